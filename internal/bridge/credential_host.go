package bridge

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// credentialHost is the name under which an API's credential is kept: its host, the default port
// left out, as people know it. GitHub keeps its API on a host of its own beside the site's.
func credentialHost(api *url.URL) string {
	host := plainHost(api.Hostname())
	if host == "api.github.com" {
		host = "github.com"
	} else if tenant, ok := strings.CutPrefix(host, "api."); ok && strings.HasSuffix(tenant, ".ghe.com") {
		host = tenant
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := strings.TrimLeft(api.Port(), "0")
	switch {
	case port != "" && port != "443":
		return host + ":" + port
	case port == "" && api.Scheme == "http":
		return host + ":80"
	default:
		return host
	}
}

// plainHost spells a host's name in the one way in which it is kept: small letters, no dot at its end,
// an IPv6 address as short as it can be (RFC 5952).
func plainHost(name string) string {
	host := strings.TrimSuffix(strings.ToLower(name), ".")
	if at, err := netip.ParseAddr(host); err == nil {
		return at.String()
	}
	return host
}

// ParseCredentialHost takes HOST or HOST:PORT as an operator types it, and gives the name under
// which its credential is kept: api.github.com is github.com. It refuses anything else, an
// address with a path or a user too.
func ParseCredentialHost(text string) (string, error) {
	u, err := url.Parse("https://" + text)
	if err != nil || u.Host != text || strings.HasSuffix(text, ":") || !isHostName(u.Hostname()) {
		return "", fmt.Errorf("%q is not a host such as github.com or git.example:8443", text)
	}
	if strings.HasSuffix(u.Hostname(), ".") {
		return "", fmt.Errorf("%s ends in a dot", text)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
			return "", fmt.Errorf("port %s of %s is not between 1 and 65535, written without a zero before it", port, text)
		}
	}
	host := credentialHost(u)
	if host == "www.github.com" {
		return "", fmt.Errorf("%q has no API; the host is github.com", text)
	}
	return host, nil
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
