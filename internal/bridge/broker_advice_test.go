package bridge

import (
	"context"
	"strings"
	"testing"

	"fleet/api"
)

// Run as the ship's user, ship credential add would keep the token under the agents' user.
func TestABridgeOfItsOwnNeverSendsItsCredentialToTheShipsUser(t *testing.T) {
	none, err := NewCredentialStore(CredentialStoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ambiguous, err := NewCredentialStore(CredentialStoreConfig{
		Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(fakeToken)},
		Registered:  registered(t, "github", "https://api.github.com", "gitlab", "https://github.com"),
	})
	if err != nil {
		t.Fatal(err)
	}
	refused := &fakeForge{info: func(context.Context) (*api.RepoInfo, error) {
		return nil, &api.Error{Code: api.Unauthenticated, Reason: "credential_invalid", Message: "refused", Hint: "run ship credential add"}
	}}
	for name, c := range map[string]struct {
		forge       *fakeForge
		credentials Credentials // nil: one that is fit
		request     Request
		reason      string
		own         string // the hint of a bridge of its own
	}{
		"none, for a write":          {&fakeForge{}, none, comment("done"), "no_credential", "put a credential for github.com under credentials:"},
		"none, at a host of one's":   {&fakeForge{}, none, Request{Op: OpInfo, Repo: "far"}, "no_credential", "put a credential for ghe.example under credentials:"},
		"one for more than a forge":  {&fakeForge{}, ambiguous, comment("done"), "credential_ambiguous", "put a credential for github.com under credentials:"},
		"one that the forge refuses": {refused, nil, Request{Op: OpInfo, Repo: "widgets"}, "credential_invalid", "renew the credential for github.com that its bridge.yaml names"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, embedded := range []bool{true, false} {
				b := openBench(t, "", c.forge, func(config *Config) {
					config.Embedded = embedded
					if c.credentials != nil {
						config.Credentials = c.credentials
					}
				})
				ship := b.Local()
				if !embedded {
					granted, err := b.desk.grant(api.GrantRequest{Ship: "laptop", Repo: api.AllRepos, Verbs: verbs()})
					if err != nil {
						t.Fatal(err)
					}
					ship = NewSecret(granted.Credential)
				}
				_, err := b.As(ship).Do(t.Context(), c.request)
				e := asError(err)
				said := strings.Contains(e.Hint, "ship credential add")
				if e.Reason != c.reason || said != embedded {
					t.Errorf("embedded %v: %s, hint %q", embedded, e.Reason, e.Hint)
				}
				if !embedded && (!strings.Contains(e.Hint, c.own) || !strings.Contains(e.Hint, "SIGHUP")) {
					t.Errorf("hint %q, want %q", e.Hint, c.own)
				}
			}
		})
	}
}
