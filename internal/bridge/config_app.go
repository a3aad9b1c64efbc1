package bridge

import (
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// maxAppRepositories is how many repositories a token of a GitHub App can be narrowed to.
// See https://docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app.
const maxAppRepositories = 500

// permissionName is how GitHub spells permissions. Which there are differs among its versions: an
// installation without one says so when the token is asked for.
var permissionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func (p *configParser) app(n *yaml.Node, path string) *FileApp {
	keys := p.mapping(n, path, []string{"id", "installation", "key_file"}, "repository_ids", "permissions")
	app := &FileApp{KeyFile: p.path(keys["key_file"], path+".key_file")}
	if at := keys["id"]; at != nil {
		if at.ShortTag() == "!!int" {
			p.positive(at, path+".id")
			app.ID = at.Value
		} else {
			app.ID = p.text(at, path+".id")
		}
	}
	if at := keys["installation"]; at != nil {
		app.Installation = p.positive(at, path+".installation")
	}
	if at := keys["repository_ids"]; at != nil {
		app.RepositoryIDs = p.repositoryIDs(at, path+".repository_ids")
	}
	if at := keys["permissions"]; at != nil {
		app.Permissions = p.permissions(at, path+".permissions")
	}
	return app
}

// repositoryIDs takes no empty list: to the forge it would mean all repositories.
func (p *configParser) repositoryIDs(n *yaml.Node, path string) []int64 {
	if !p.kind(n, path, yaml.SequenceNode) {
		return nil
	}
	var ids []int64
	for i, item := range n.Content {
		before := len(p.faults)
		id := p.positive(item, path+"["+strconv.Itoa(i)+"]")
		if len(p.faults) == before && slices.Contains(ids, id) {
			p.fault(item, path+"["+strconv.Itoa(i)+"]", "stands in the list already")
		}
		ids = append(ids, id)
	}
	switch {
	case len(ids) == 0:
		p.fault(n, path, "names no repository; leave it out for all that the installation has")
	case len(ids) > maxAppRepositories:
		p.fault(n, path, "names more than "+strconv.Itoa(maxAppRepositories)+" repositories, to which a token cannot be narrowed")
	}
	return ids
}

// permissions takes no empty mapping: to the forge it would mean all permissions.
func (p *configParser) permissions(n *yaml.Node, path string) map[string]string {
	if !p.kind(n, path, yaml.MappingNode) {
		return nil
	}
	all := map[string]string{}
	for key, value := range p.entries(n, path) {
		if !permissionName.MatchString(key.Value) {
			p.fault(key, path, "a permission is spelled as in GitHub's API, such as pull_requests")
			continue
		}
		all[key.Value] = p.oneOf(value, path+"."+key.Value, "read", "write", "admin")
	}
	if len(n.Content) == 0 {
		p.fault(n, path, "names no permission; leave it out for all that the installation has")
	}
	return all
}
