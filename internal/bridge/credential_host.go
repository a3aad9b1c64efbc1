package bridge

import (
	"fmt"
	"net/url"
	"strings"
)

// credentialHost is the name under which an API's credential is kept: its host, the default port
// left out, as people know it. GitHub keeps its API on a host of its own beside the site's.
func credentialHost(api *url.URL) string {
	host := strings.ToLower(api.Hostname())
	if host == "api.github.com" {
		host = "github.com"
	} else if tenant, ok := strings.CutPrefix(host, "api."); ok && strings.HasSuffix(tenant, ".ghe.com") {
		host = tenant
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	switch port := api.Port(); {
	case port != "" && port != "443":
		return host + ":" + port
	case port == "" && api.Scheme == "http":
		return host + ":80"
	default:
		return host
	}
}

// ParseCredentialHost takes HOST or HOST:PORT as an operator types it, and gives the name under
// which its credential is kept: api.github.com is github.com. It refuses anything else, an
// address with a path or a user too.
func ParseCredentialHost(text string) (string, error) {
	u, err := url.Parse("https://" + text)
	if err != nil || u.Host != text || strings.HasSuffix(text, ":") || !isHostName(u.Hostname()) {
		return "", fmt.Errorf("%q is not a host such as github.com or git.example:8443", text)
	}
	return credentialHost(u), nil
}

func isHostName(name string) bool {
	for _, c := range []byte(strings.ToLower(name)) {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-:_", rune(c)) {
			return false
		}
	}
	return name != "" && name[0] != '.' && name[0] != '-' && !strings.Contains(name, "..")
}

// wellKnown is the host for which a forge's token from the environment is meant without further
// ado, or "".
func wellKnown(forge string) string {
	return map[string]string{forgeGitHub: "github.com", forgeGitLab: "gitlab.com", forgeGitea: "codeberg.org"}[forge]
}

// Registration is one registered repository, as far as credentials care.
type Registration struct {
	Forge string
	API   *url.URL // nil is skipped
}

// forgesAt says under which forges host is registered.
func forgesAt(host string, registered []Registration) map[string]bool {
	forges := map[string]bool{}
	for _, r := range registered {
		if r.API != nil && credentialHost(r.API) == host {
			forges[r.Forge] = true
		}
	}
	return forges
}
