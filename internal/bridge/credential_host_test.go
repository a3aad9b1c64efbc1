package bridge

import "testing"

// A credential is kept under the name by which its API's address asks for it, or refused: else it
// lies there unused, and the token of the environment goes to that host in its place.
func TestAHostUnderWhichNoCredentialIsEverFoundIsRefused(t *testing.T) {
	for typed, api := range map[string]string{
		"ghe.example.":       "",
		"ghe.example:0443":   "",
		"ghe.example:08443":  "",
		"ghe.example:99999":  "",
		"ghe.example:0":      "",
		"www.github.com":     "",
		"GHE.example:443":    "https://ghe.example/api/v3",
		"[0:0:0:0:0:0:0:1]":  "https://[::1]/api/v3",
		"[::FFFF:192.0.2.1]": "https://[::ffff:c000:201]/api/v3",
	} {
		name, err := ParseCredentialHost(typed)
		if api == "" {
			if err == nil {
				t.Errorf("%s is kept as %q, which no API's address asks for", typed, name)
			}
			continue
		}
		if err != nil || credentialHost(parse(t, api)) != name {
			t.Errorf("%s is kept as %q (%v); %s is not found under that", typed, name, err, api)
		}
	}
}
