package bridge

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fleet/api"
)

const maxConfig = 1 << 20

// ParseConfig reads bridge.yaml. It takes no key that it doesn't know, no key twice, no anchors, and
// fails with ConfigFaults, which is every fault at once.
func ParseConfig(text []byte) (*File, error) {
	f, faults := parseConfig(text)
	if len(faults) > 0 {
		return nil, faults
	}
	return f, nil
}

// parseConfig gives what can be read beside the faults; nil: nothing.
func parseConfig(text []byte) (*File, ConfigFaults) {
	if len(text) > maxConfig {
		return nil, ConfigFaults{{What: "the file is larger than a megabyte"}}
	}
	root, fault := document(text)
	if fault != nil {
		return nil, ConfigFaults{*fault}
	}
	p := &configParser{}
	f := p.file(root)
	slices.SortStableFunc(p.faults, func(a, b ConfigFault) int { return a.Line - b.Line })
	return f, p.faults
}

// document gives the one document's root.
func document(text []byte) (*yaml.Node, *ConfigFault) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return nil, &ConfigFault{What: "the file is empty"}
	case err != nil:
		return nil, syntaxFault(err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &ConfigFault{Line: more.Line, What: "the file holds more than one document"}
	}
	return doc.Content[0], nil
}

// syntaxFault is in the YAML library's words, which name a line and quote nothing but anchors.
func syntaxFault(err error) *ConfigFault {
	fault := &ConfigFault{What: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		fault.Line, fault.What = load.Mark.Line, "not YAML: "+load.Message
	}
	return fault
}

type configParser struct{ faults ConfigFaults }

func (p *configParser) fault(n *yaml.Node, path, what string) {
	p.faults = append(p.faults, ConfigFault{Line: n.Line, Path: path, What: what})
}

func (p *configParser) file(n *yaml.Node) *File {
	f := &File{Repos: map[string]Registered{}}
	top := p.mapping(n, "", []string{"listen", "dir", "repos"}, "tls", "credentials")
	f.Listen = p.text(top["listen"], "listen")
	f.Dir = p.path(top["dir"], "dir")
	if n := top["tls"]; n != nil {
		keys := p.mapping(n, "tls", []string{"cert_file", "key_file"})
		f.TLS = &TLSFiles{p.path(keys["cert_file"], "tls.cert_file"), p.path(keys["key_file"], "tls.key_file")}
	}
	if n := top["listen"]; n != nil && f.Listen != "" {
		if what := checkListen(f.Listen, f.TLS != nil); what != "" {
			p.fault(n, "listen", what)
		}
	}
	if n := top["repos"]; n != nil {
		p.repos(f, n)
	}
	if n := top["credentials"]; n != nil {
		p.credentials(f, n)
	}
	return f
}

func (p *configParser) repos(f *File, n *yaml.Node) {
	if !p.kind(n, "repos", yaml.MappingNode) {
		return
	}
	for key, value := range p.entries(n, "repos") {
		path := "repos." + key.Value
		if what := checkRepoName(key.Value); what != "" {
			p.fault(key, path, what)
		}
		keys := p.mapping(value, path, []string{"url", "forge"}, append([]string{"api_url"}, policyKeys()...)...)
		before := len(p.faults)
		r := Registered{
			URL:    p.text(keys["url"], path+".url"),
			Forge:  p.oneOf(keys["forge"], path+".forge", forgeGitHub, forgeGitLab, forgeGitea, forgeNone),
			APIURL: p.text(keys["api_url"], path+".api_url"),
		}
		if at := keys["url"]; at != nil && r.URL != "" {
			if what := checkRemote(r.URL); what != "" {
				p.fault(at, path+".url", what)
			}
		}
		if at := keys["api_url"]; at != nil && r.APIURL != "" && !isAPIAddress(r.APIURL) {
			p.fault(at, path+".api_url", "must be an https address (http on loopback only) without user, query and fragment")
		}
		if len(p.faults) == before && keys["url"] != nil && keys["forge"] != nil && r.Forge != forgeNone {
			var e *api.Error
			if _, err := r.repo(key.Value); errors.As(err, &e) {
				p.fault(value, path, e.Message)
			}
		}
		r.Policy = p.policy(keys, path)
		f.Repos[key.Value] = r
	}
}

func (p *configParser) credentials(f *File, n *yaml.Node) {
	if !p.kind(n, "credentials", yaml.SequenceNode) {
		return
	}
	seen := map[string]int{}
	for i, item := range n.Content {
		path := "credentials[" + strconv.Itoa(i) + "]"
		keys := p.mapping(item, path, []string{"host"}, "file", "app")
		c := FileCredential{Host: p.text(keys["host"], path+".host"), File: p.path(keys["file"], path+".file")}
		if at := keys["host"]; at != nil && c.Host != "" {
			name, err := ParseCredentialHost(c.Host)
			if err != nil {
				p.fault(at, path+".host", "must be a host such as github.com or git.example:8443")
			} else if line := seen[name]; line > 0 {
				p.fault(at, path+".host", "has a credential already, in line "+strconv.Itoa(line))
			} else {
				seen[name] = at.Line
			}
		}
		if keys["app"] != nil {
			c.App = p.app(keys["app"], path+".app")
		}
		if item.Kind == yaml.MappingNode && (keys["file"] == nil) == (keys["app"] == nil) {
			p.fault(item, path, "needs either file or app")
		}
		f.Credentials = append(f.Credentials, c)
	}
}

// checkRepoName holds a key to what a repository may be called in an atlas.
func checkRepoName(s string) string {
	switch {
	case s == api.AllRepos:
		return "* stands for all repositories and can't be the name of one"
	case s == "" || len(s) > 128 || !utf8.ValidString(s) || strings.ContainsAny(s, `/\`) || strings.ContainsFunc(s, unicode.IsControl),
		strings.HasPrefix(s, "."), strings.HasPrefix(s, "-"):
		return "a name has 1 to 128 bytes, without / and \\ and control characters, and doesn't start with . or -"
	}
	return ""
}

// path takes an absolute path.
func (p *configParser) path(n *yaml.Node, path string) string {
	s := p.text(n, path)
	if s != "" && (!filepath.IsAbs(s) || strings.ContainsFunc(s, unicode.IsControl)) {
		p.fault(n, path, "must be an absolute path")
	}
	return s
}
