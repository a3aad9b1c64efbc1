package bridge

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func registered(t *testing.T, pairs ...string) func() []Registration {
	t.Helper()
	var list []Registration
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Registration{Forge: pairs[i], API: parse(t, pairs[i+1])})
	}
	return func() []Registration { return list }
}

func storeOf(t *testing.T, c CredentialStoreConfig) *CredentialStore {
	t.Helper()
	s, err := NewCredentialStore(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signs says what the store gives a repository of the forge at address: the header, or an error.
func signs(t *testing.T, s *CredentialStore, forge, address string) string {
	t.Helper()
	c, err := s.For(forge, parse(t, address))
	if err != nil {
		return codeOf(err)
	}
	secret, err := c.Authorization(t.Context())
	if err != nil {
		return codeOf(err)
	}
	return secret.Reveal()
}

func TestATokenOfTheEnvironmentGoesWhereItWasMeantFor(t *testing.T) {
	env := map[string]Secret{
		"GITHUB_TOKEN": NewSecret("hub"), "GH_TOKEN": NewSecret("second"), "GITLAB_TOKEN": NewSecret("lab"), "GITEA_TOKEN": NewSecret("tea"),
	}
	const ghes, gitea = "https://ghes.example/api/v3", "https://git.example:8443/api/v1"
	cases := map[string]struct {
		forge, address string
		registry       []string
		want           string
	}{
		"github.com":                       {"github", "https://api.github.com", nil, "Bearer hub"},
		"gitlab.com":                       {"gitlab", "https://gitlab.com/api/v4", nil, "Bearer lab"},
		"codeberg.org":                     {"gitea", "https://codeberg.org/api/v1", nil, "token tea"},
		"an unregistered host":             {"github", ghes, nil, ""},
		"a registered host":                {"github", ghes, []string{"github", ghes}, "Bearer hub"},
		"its other port":                   {"github", "https://ghes.example:444/api/v3", []string{"github", ghes}, ""},
		"its default port":                 {"github", "https://ghes.example:443/api/v3", []string{"github", ghes}, "Bearer hub"},
		"its name in capitals":             {"github", "https://GHES.example/api/v3", []string{"github", ghes}, "Bearer hub"},
		"a host below it":                  {"github", "https://x.ghes.example/api/v3", []string{"github", ghes}, ""},
		"a host of another forge":          {"github", gitea, []string{"gitea", gitea}, ""},
		"that forge at its host":           {"gitea", gitea, []string{"gitea", gitea}, "token tea"},
		"github.com taken by another":      {"github", "https://api.github.com", []string{"gitea", "https://github.com/api/v1"}, ""},
		"a host of two forges":             {"github", ghes, []string{"github", ghes, "gitea", ghes}, "unauthenticated/credential_ambiguous"},
		"a host of two forges, the second": {"gitea", ghes, []string{"github", ghes, "gitea", ghes}, "unauthenticated/credential_ambiguous"},
		"a forge without a variable":       {"none", ghes, []string{"none", ghes}, ""},
		"github's token to gitlab.com":     {"github", "https://gitlab.com/api/v4", nil, ""},
	}
	for name, tc := range cases {
		s := storeOf(t, CredentialStoreConfig{Environment: env, Registered: registered(t, tc.registry...)})
		if got := signs(t, s, tc.forge, tc.address); got != tc.want {
			t.Errorf("%s: signed %q, want %q", name, got, tc.want)
		}
	}
	s := storeOf(t, CredentialStoreConfig{Environment: map[string]Secret{"GH_TOKEN": NewSecret("second")}})
	if got := signs(t, s, "github", "https://api.github.com"); got != "Bearer second" {
		t.Errorf("GH_TOKEN alone: signed %q", got)
	}
	s = storeOf(t, CredentialStoreConfig{Environment: map[string]Secret{"GH_TOKEN": NewSecret("a\nX: b")}})
	if got := signs(t, s, "github", "https://api.github.com"); got != "unauthenticated/credential_unusable" {
		t.Errorf("a token of two lines: signed %q", got)
	}
}

func TestAHostsOwnCredentialWins(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet", "credentials")
	token := writeSecret(t, filepath.Join(t.TempDir(), "token"), "configured", 0o640)
	s := storeOf(t, CredentialStoreConfig{
		Dir:         dir,
		Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret("environment")},
		Configured:  []HostCredential{{Host: "ghes.example", File: token}},
		Registered:  registered(t, "github", "https://ghes.example/api/v3", "github", "https://api.github.com"),
	})
	steps := []struct {
		name string
		do   func() error
		hub  string
		ghes string
	}{
		{"at first", func() error { return nil }, "Bearer environment", "Bearer configured"},
		{"added for the other", func() error { _, err := s.Add("ghes.example", NewSecret("stored")); return err }, "Bearer environment", "Bearer stored"},
		{"added by the API's name", func() error { _, err := s.Add("api.github.com", NewSecret("hub-stored")); return err }, "Bearer hub-stored", "Bearer stored"},
		{"replaced", func() error { _, err := s.Add("github.com", NewSecret("hub-again")); return err }, "Bearer hub-again", "Bearer stored"},
		{"made unusable", func() error { return os.Chmod(filepath.Join(dir, "github.com"), 0o644) }, "unauthenticated/credential_unusable", "Bearer stored"},
		{"removed", func() error { return s.Remove("github.com") }, "Bearer environment", "Bearer stored"},
	}
	// One credential through it all: a running bridge follows.
	c, err := s.For("github", parse(t, "https://api.github.com"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := signs(t, s, "github", "https://api.github.com"); got != step.hub {
			t.Errorf("%s: github.com is signed %q, want %q", step.name, got, step.hub)
		}
		if got := signs(t, s, "github", "https://ghes.example/api/v3"); got != step.ghes {
			t.Errorf("%s: ghes.example is signed %q, want %q", step.name, got, step.ghes)
		}
		secret, err := c.Authorization(t.Context())
		if err == nil && secret.Reveal() != step.hub {
			t.Errorf("%s: a credential from before signs %q, want %q", step.name, secret.Reveal(), step.hub)
		}
	}
	if got := c.ID(); got != "env:github" {
		t.Errorf("ID() = %q", got)
	}
	if err := s.Remove("github.com"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a second Remove = %v", err)
	}
}

// What the sentinel of one host may never do: go to a host that was registered for another forge,
// or that has a credential of its own.
func TestNoHostGetsTheCredentialOfAnother(t *testing.T) {
	var hub, own, tea record
	note := func(r *record) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { r.note(req) })
	}
	hubAPI, ownAPI, teaAPI := serveOn(t, "127.0.0.1", note(&hub)).URL, serveOn(t, "127.0.0.2", note(&own)).URL, serveOn(t, "127.0.0.3", note(&tea)).URL
	s := storeOf(t, CredentialStoreConfig{
		Dir:         t.TempDir(),
		Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(sentinel)},
		Registered:  registered(t, "github", hubAPI, "github", ownAPI, "gitea", teaAPI),
	})
	if err := os.Chmod(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(parse(t, ownAPI).Host, NewSecret("its-own-token")); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ forge, at string }{{"github", hubAPI}, {"github", ownAPI}, {"gitea", teaAPI}, {"github", teaAPI}} {
		c, err := s.For(r.forge, parse(t, r.at))
		if err != nil {
			t.Fatal(err)
		}
		g := guardOf(t, r.at, func(config *GuardConfig) { config.Credential = c })
		if _, _, err := ask(t.Context(), g, "GET", r.at+"/repos/a/b", ""); err != nil {
			t.Error(err)
		}
		for _, other := range []string{hubAPI, ownAPI, teaAPI} {
			if other == r.at {
				continue
			}
			if _, _, err := ask(t.Context(), g, "GET", other+"/repos/a/b", ""); err == nil {
				t.Errorf("a guard of %s asked %s", r.at, other)
			}
			if _, err := NewGuard(GuardConfig{API: parse(t, other), Credential: c}); err == nil {
				t.Errorf("a guard of %s took the credential of %s", other, r.at)
			}
		}
	}
	if hub.signatures() != "Bearer "+sentinel || own.signatures() != "Bearer its-own-token" || tea.signatures() != "; " {
		t.Errorf("the hosts got %q, %q and %q", hub.signatures(), own.signatures(), tea.signatures())
	}
}

func TestStoredCredentialsArePrivateAndListedWithoutText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet", "credentials")
	s := storeOf(t, CredentialStoreConfig{Dir: dir})
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("List() of nothing = %v, %v", list, err)
	}
	for _, host := range []string{"github.com", "git.example:8443", "[::1]:3000"} {
		if name, err := s.Add(host, NewSecret(" "+sentinel+"\n")); err != nil || name != host {
			t.Errorf("Add(%s) = %q, %v", host, name, err)
		}
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "github.com"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	writeSecret(t, filepath.Join(dir, ".github.com123"), "half", 0o600)
	writeSecret(t, filepath.Join(dir, "wide.example"), sentinel, 0o644)
	list, err := s.List()
	if err != nil || len(list) != 4 {
		t.Fatalf("List() = %v, %v", list, err)
	}
	for _, c := range list {
		if (c.Fault != "") != (c.Host == "wide.example") || (c.Fault == "") != (c.Fingerprint == NewSecret(sentinel).Fingerprint()) {
			t.Errorf("List() has %+v", c)
		}
	}
	// A file that was made with other rights before is put right.
	if _, err := s.Add("wide.example", NewSecret("new-token")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "wide.example")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after Add the file has mode %v, %v", info.Mode().Perm(), err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add("github.com", NewSecret(sentinel)); err == nil {
		t.Error("Add wrote into a directory that others may write to")
	}
}

func TestHostsAreHostsAndNothingElse(t *testing.T) {
	good := map[string]string{
		"github.com": "github.com", "GitHub.com": "github.com", "api.github.com": "github.com", "api.acme.ghe.com": "acme.ghe.com",
		"git.example:8443": "git.example:8443", "git.example:443": "git.example", "127.0.0.1:3000": "127.0.0.1:3000", "[::1]": "[::1]", "my_host": "my_host",
	}
	for text, want := range good {
		if got, err := ParseCredentialHost(text); err != nil || got != want {
			t.Errorf("ParseCredentialHost(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ".", "..", "../x", "a/b", "/", "https://github.com", "user@github.com", "github.com/acme", "github.com?x", "github.com#x",
		"git hub.com", ".hidden", "-x", "a:b:c", "github.com:", "gith\nub.com", "gïthub.com", "%2e%2e", "a%2fb", ":443", "github.com:99x", "..:443", "a..b",
	} {
		if got, err := ParseCredentialHost(text); err == nil {
			t.Errorf("ParseCredentialHost(%q) = %q, want an error", text, got)
		}
	}
}

func TestConfiguredCredentialsAreCheckedAtStart(t *testing.T) {
	app, err := NewApp(AppConfig{API: parse(t, "https://api.github.com"), Issuer: "1", Installation: 2, KeyFile: "/key"})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		hosts []HostCredential
		ok    bool
	}{
		"none":                    {nil, true},
		"an app":                  {[]HostCredential{{Host: "github.com", Credential: app}}, true},
		"an app of another host":  {[]HostCredential{{Host: "ghes.example", Credential: app}}, false},
		"no host":                 {[]HostCredential{{File: "/x"}}, false},
		"neither":                 {[]HostCredential{{Host: "github.com"}}, false},
		"both":                    {[]HostCredential{{Host: "github.com", File: "/x", Credential: app}}, false},
		"twice under other names": {[]HostCredential{{Host: "github.com", File: "/x"}, {Host: "api.github.com", File: "/y"}}, false},
	}
	for name, tc := range cases {
		if _, err := NewCredentialStore(CredentialStoreConfig{Configured: tc.hosts}); (err == nil) != tc.ok {
			t.Errorf("%s: NewCredentialStore = %v, want ok %v", name, err, tc.ok)
		}
	}
	s := storeOf(t, CredentialStoreConfig{})
	if _, err := s.For("github", nil); codeOf(err) != "invalid/api_url" {
		t.Errorf("For without an address = %v", err)
	}
}

func TestCredentialsLiveBelowTheUsersConfiguration(t *testing.T) {
	cases := map[string]struct {
		env  map[string]string
		want string
	}{
		"XDG":          {map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/fleet/credentials"},
		"home":         {map[string]string{"HOME": "/h"}, "/h/.config/fleet/credentials"},
		"relative XDG": {map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/h"}, "/h/.config/fleet/credentials"},
		"neither":      {nil, ""},
	}
	for name, tc := range cases {
		got, err := CredentialDir(func(n string) string { return tc.env[n] })
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: CredentialDir() = %q, %v, want %q", name, got, err, tc.want)
		}
	}
	if !strings.HasPrefix("GITHUB_TOKEN", tokenVariables()["github"][0]) {
		t.Error("GITHUB_TOKEN does not come first")
	}
}
