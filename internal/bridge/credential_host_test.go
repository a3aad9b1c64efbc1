package bridge

import (
	"net/url"
	"testing"
)

// A credential is kept under the name by which its API's address asks for it, or refused: else it
// lies there unused, and the token of the environment goes to that host in its place.
func TestAHostUnderWhichNoCredentialIsEverFoundIsRefused(t *testing.T) {
	for typed, api := range map[string]string{
		"ghe.example.":       "https://ghe.example/api/v3",
		"ghe.example:0443":   "https://ghe.example/api/v3",
		"ghe.example:99999":  "",
		"ghe.example:0":      "",
		"www.github.com":     "https://api.github.com",
		"[0:0:0:0:0:0:0:1]":  "https://[::1]/api/v3",
		"ghe.example:08443":  "https://ghe.example:8443/api/v3",
		"[::FFFF:192.0.2.1]": "https://[::ffff:c000:201]/api/v3",
	} {
		name, err := ParseCredentialHost(typed)
		if err != nil {
			continue
		}
		u, err := url.Parse(api)
		if api == "" || err != nil || credentialHost(u) != name {
			t.Errorf("%s is kept as %q; %s is not found under that", typed, name, api)
		}
	}
}
