package bridge

import (
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// kind holds n to one kind of node, without an anchor.
func (p *configParser) kind(n *yaml.Node, path string, want yaml.Kind) bool {
	names := map[yaml.Kind]string{yaml.MappingNode: "keys and values", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		p.fault(n, path, "anchors and aliases are not taken: write the value out")
	case n.Kind != want:
		p.fault(n, path, "must be "+names[want])
	default:
		return true
	}
	return false
}

// entries goes over a mapping's keys, and names those that come twice or are no text.
func (p *configParser) entries(n *yaml.Node, path string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.ShortTag() != "!!str" {
				p.fault(key, path, "a key must be text; put it in quotation marks")
				continue
			}
			if line := seen[key.Value]; line > 0 {
				p.fault(key, joinPath(path, key.Value), "stands in line "+strconv.Itoa(line)+" already")
				continue
			}
			seen[key.Value] = key.Line
			if !yield(key, value) {
				return
			}
		}
	}
}

// mapping gives the values of known keys, and names unknown and missing ones.
func (p *configParser) mapping(n *yaml.Node, path string, required []string, optional ...string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	if !p.kind(n, path, yaml.MappingNode) {
		return values
	}
	known := slices.Concat(required, optional)
	for key, value := range p.entries(n, path) {
		if !slices.Contains(known, key.Value) {
			p.fault(key, joinPath(path, key.Value), "unknown key; known are "+strings.Join(known, ", "))
			continue
		}
		values[key.Value] = value
	}
	for _, name := range required {
		if values[name] == nil {
			p.fault(n, joinPath(path, name), "is missing")
		}
	}
	return values
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// text takes a text that isn't empty. nil gives "".
func (p *configParser) text(n *yaml.Node, path string) string {
	if n == nil || !p.kind(n, path, yaml.ScalarNode) {
		return ""
	}
	if n.ShortTag() != "!!str" || n.Value == "" {
		p.fault(n, path, "must be text, and not empty")
		return ""
	}
	return n.Value
}

func (p *configParser) oneOf(n *yaml.Node, path string, values ...string) string {
	s := p.text(n, path)
	if s != "" && !slices.Contains(values, s) {
		p.fault(n, path, "must be one of "+strings.Join(values, ", "))
	}
	return s
}

func (p *configParser) positive(n *yaml.Node, path string) int64 {
	if !p.kind(n, path, yaml.ScalarNode) {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.ShortTag() != "!!int" || err != nil || v < 1 {
		p.fault(n, path, "must be a positive whole number")
	}
	return v
}

// checkListen says what is wrong with an address to listen on, or "".
func checkListen(s string, withTLS bool) string {
	if path, ok := strings.CutPrefix(s, "unix://"); ok {
		switch {
		case !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsFunc(path, unicode.IsControl):
			return "must be unix:///PATH with an absolute path"
		case withTLS:
			return "a unix socket takes no tls"
		}
		return ""
	}
	m := regexp.MustCompile(`^([A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$`).FindStringSubmatch(s)
	if m == nil {
		return "must be HOST:PORT or unix:///PATH"
	}
	if port, err := strconv.Atoi(m[2]); err != nil || port < 1 || port > 65535 || m[2][0] == '0' {
		return "must have a port from 1 to 65535"
	}
	if !withTLS && !regexp.MustCompile(`^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$`).MatchString(m[1]) {
		return "is not on loopback, so ships' credentials would travel in the clear: add tls with cert_file and key_file, or listen on 127.0.0.1 or a unix socket"
	}
	return ""
}

// checkRemote says what is wrong with what a repository is cloned from, without repeating it.
func checkRemote(s string) string {
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) || strings.HasPrefix(s, "-"):
		return "holds a blank or starts with a dash"
	case !strings.Contains(s, "://"):
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" && u.Scheme != "file":
		return "is not an address"
	case u.RawQuery != "" || u.Fragment != "":
		return "has a query or a fragment, where credentials travel"
	case u.User != nil && (!strings.Contains(u.Scheme, "ssh") || strings.Contains(u.User.String(), ":")):
		return "holds a user name or password; the bridge's credentials stand under credentials"
	}
	return ""
}

func isAPIAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && !strings.ContainsAny(s, "?#") && checkAPI(u) == nil
}
