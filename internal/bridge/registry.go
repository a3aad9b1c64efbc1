package bridge

import (
	"net/url"
	"strings"

	"fleet/api"
)

// forgeNone is the forge of a repository that is on none.
const forgeNone = "none"

// Registered is a repository as the operator registered it. APIURL may be empty: the usual one
// for the forge at URL's host is meant then.
type Registered struct {
	Forge  string
	URL    string
	APIURL string
	Policy Policy
}

// Registrations gives registered to a CredentialStore. What has no forge, or no address that can
// be understood, is left out: no credential is ever sent there.
func Registrations(registered map[string]Registered) []Registration {
	list := make([]Registration, 0, len(registered))
	for _, r := range registered {
		if at, err := r.api(); err == nil {
			list = append(list, Registration{Forge: r.Forge, API: at})
		}
	}
	return list
}

// repo is the repository as its provider needs it.
func (r Registered) repo(name string) (Repo, error) {
	at, err := r.api()
	if err != nil {
		return Repo{}, err
	}
	_, path, ok := splitRemote(r.URL)
	// A forge below a path, such as https://example.org/git/api/v1, has its repositories there too.
	if base, found := cutAPI(at.Path); ok && found && base != "" {
		path = strings.TrimPrefix(path, strings.TrimPrefix(base, "/")+"/")
	}
	if !ok || !plainPath(path, r.Forge) {
		return Repo{}, badRegistration("its url names no repository of a forge")
	}
	return Repo{Name: name, Path: path, APIURL: at}, nil
}

// api is the base address of the forge's API, without a slash at its end.
func (r Registered) api() (*url.URL, error) {
	if r.Forge == forgeNone || r.Forge == "" {
		return nil, &api.Error{
			Code: api.Unsupported, Reason: "no_forge",
			Message: "this repository is registered without a forge, so it has no issues, pull requests or checks here",
			Hint:    "if it is on a forge, ask the operator to register it with that forge's url; work with git alone until then",
		}
	}
	text := r.APIURL
	if text == "" {
		host, _, ok := splitRemote(r.URL)
		if !ok {
			return nil, badRegistration("it has neither an api_url nor a url with a host")
		}
		text = usualAPI(r.Forge, host)
	}
	at, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return nil, badRegistration("its api_url is not an address")
	}
	return at, nil
}

func badRegistration(why string) *api.Error {
	return &api.Error{
		Code: api.Unsupported, Reason: "bad_registration",
		Message: "this repository's registration cannot be used: " + why,
		Hint:    "ask the operator to register it anew with the forge's url and api_url",
	}
}

// usualAPI is where a forge at host has its API, as each one documents it.
func usualAPI(forge, host string) string {
	switch {
	case forge == forgeGitHub && host == "github.com":
		return "https://api.github.com"
	case forge == forgeGitHub && strings.HasSuffix(host, ".ghe.com"):
		return "https://api." + host
	case forge == forgeGitLab:
		return "https://" + host + "/api/v4"
	case forge == forgeGitea:
		return "https://" + host + "/api/v1"
	}
	return "https://" + host + "/api/v3"
}

// cutAPI cuts a forge's own suffix off its API's path, and gives what it is mounted below.
func cutAPI(path string) (base string, found bool) {
	for _, suffix := range []string{"/api/v3", "/api/v4", "/api/v1"} {
		if base, ok := strings.CutSuffix(path, suffix); ok {
			return base, true
		}
	}
	return "", false
}

// splitRemote takes what git can clone from a host: a URL, or USER@HOST:PATH as scp has it. The
// path comes without slashes around it and without .git.
func splitRemote(remote string) (host, path string, ok bool) {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.Scheme == "file" || u.Hostname() == "" {
			return "", "", false
		}
		host, path = u.Hostname(), u.Path
	} else {
		host, path, ok = strings.Cut(remote, ":")
		if !ok || strings.Contains(host, "/") {
			return "", "", false
		}
		host = host[strings.LastIndex(host, "@")+1:]
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	return strings.ToLower(host), path, host != "" && path != ""
}

// plainPath holds path to what can stand in an API's address as it is. Only GitLab nests groups.
func plainPath(path, forge string) bool {
	segments := strings.Split(path, "/")
	if len(segments) < 2 || (len(segments) > 2 && forge != forgeGitLab) {
		return false
	}
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || strings.Trim(s, nameBytes) != "" {
			return false
		}
	}
	return true
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
