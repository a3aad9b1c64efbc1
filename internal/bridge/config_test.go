package bridge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const wholeConfig = `# a bridge for two teams
listen: 0.0.0.0:4701
tls:
  cert_file: /etc/fleet/cert.pem
  key_file: /etc/fleet/key.pem
dir: /var/lib/fleet-bridge
repos:
  widgets:
    url: https://github.com/acme/widgets.git
    forge: github
  gadgets: { url: "git@ghe.example:acme/gadgets", forge: github, api_url: https://ghe.example/api/v3 }
  public:
    url: https://github.com/acme/public.git
    forge: github
    trusted_authors_only: true
    trusted_authors: ["dependabot[bot]", ann]
    mass_mentions: allow
    closing_keywords: refuse
  notes: { url: /srv/git/notes, forge: none }
credentials:
  - host: github.com
    app: { id: 12, installation: 34, key_file: /etc/fleet/app.pem }
  - host: ghe.example
    file: /etc/fleet/ghe.token
`

func TestAWholeConfigIsUnderstood(t *testing.T) {
	f, err := ParseConfig([]byte(wholeConfig))
	if err != nil {
		t.Fatal(err)
	}
	if f.Listen != "0.0.0.0:4701" || *f.TLS != (TLSFiles{"/etc/fleet/cert.pem", "/etc/fleet/key.pem"}) || f.Dir != "/var/lib/fleet-bridge" || len(f.Repos) != 4 {
		t.Errorf("%+v", f)
	}
	if want := (Registered{Forge: "github", URL: "git@ghe.example:acme/gadgets", APIURL: "https://ghe.example/api/v3"}); !reflect.DeepEqual(f.Repos["gadgets"], want) {
		t.Errorf("gadgets: %+v", f.Repos["gadgets"])
	}
	if want := (Policy{true, []string{"dependabot[bot]", "ann"}, true, true}); !reflect.DeepEqual(f.Repos["public"].Policy, want) {
		t.Errorf("public: %+v", f.Repos["public"].Policy)
	}
	all, err := f.HostCredentials()
	if err != nil || len(all) != 2 || all[0].Credential.ID() != "app:12/34" || all[1].File != "/etc/fleet/ghe.token" {
		t.Errorf("credentials %+v (%v)", all, err)
	}
	if _, err := NewCredentialStore(CredentialStoreConfig{Configured: all}); err != nil {
		t.Error(err)
	}
}

func TestEveryFaultOfAConfigIsNamedAtOnceWithItsLine(t *testing.T) {
	const secret = "hunter2-swordfish"
	_, err := ParseConfig([]byte(`listen: 0.0.0.0:4701
dirr: /x
repos:
  widgets:
    url: https://bot:` + secret + `@github.com/acme/widgets.git
    forge: svn
    branch: main
  -bad: { url: /x, forge: none }
  widgets: { url: /x, forge: none }
  lone: { url: https://github.com/acme, forge: github }
  fine: { url: /x, forge: none, trusted_authors_only: maybe, trusted_authors: ["@me", ghost], mass_mentions: neutralise, closing_keyword: refuse }
credentials:
  - host: github.com
  - { host: "https://github.com", file: token }
  - { host: ghe.example, file: /x, app: { id: 0, installation: x } }
  - { host: api.github.com, file: /y }
  - just text
  - { host: git.example, app: { id: 1, installation: 2, key_file: /k, repository_ids: [3, x, 3], permissions: { Issues: read, checks: all } } }
`))
	var faults ConfigFaults
	if !errors.As(err, &faults) {
		t.Fatalf("ParseConfig = %v", err)
	}
	want := []string{
		"line 1: listen: is not on loopback", "line 1: dir: is missing", "line 2: dirr: unknown key; known are listen, dir, repos, tls, credentials",
		"line 5: repos.widgets.url: holds a user name or password", "line 6: repos.widgets.forge: must be one of github, gitlab, gitea, none",
		"line 7: repos.widgets.branch: unknown key", "line 8: repos.-bad: a name", "line 9: repos.widgets: stands in line 4 already",
		"line 10: repos.lone: this repository's registration cannot be used", "line 11: repos.fine.trusted_authors_only: must be true or false",
		"line 11: repos.fine.trusted_authors[0]: must be a login without @", "line 11: repos.fine.trusted_authors[1]: stands for every deleted account",
		"line 11: repos.fine.mass_mentions: must be one of refuse, allow", "line 11: repos.fine.closing_keyword: unknown key",
		"line 13: credentials[0]: needs either file or app",
		"line 14: credentials[1].host: must be a host", "line 14: credentials[1].file: must be an absolute path",
		"line 15: credentials[2]: needs either file or app", "line 15: credentials[2].app.id: must be a positive",
		"line 15: credentials[2].app.installation: must be a positive", "line 15: credentials[2].app.key_file: is missing",
		"line 16: credentials[3].host: has a credential already, in line 13", "line 17: credentials[4]: must be keys and values",
		"line 18: credentials[5].app.repository_ids[1]: must be a positive", "line 18: credentials[5].app.repository_ids[2]: stands in the list already",
		"line 18: credentials[5].app.permissions: a permission is spelled", "line 18: credentials[5].app.permissions.checks: must be one of read, write, admin",
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no fault %q", w)
		}
	}
	if len(faults) != len(want) || strings.Contains(err.Error(), secret) {
		t.Errorf("%d faults, want %d without the password:\n%v", len(faults), len(want), err)
	}
}

// config is a document of the least that is needed, with changes to it.
func config(change func(top, repo map[string]any)) map[string]any {
	repo := map[string]any{"url": "https://github.com/acme/widgets", "forge": "github"}
	top := map[string]any{"listen": "127.0.0.1:4701", "dir": "/d", "repos": map[string]any{"widgets": repo}}
	change(top, repo)
	return top
}

// documents are bridge.yaml's as they may and may not be, for the schema as for ParseConfig.
func documents() (good, bad []map[string]any) {
	tls := map[string]any{"cert_file": "/c", "key_file": "/k"}
	top := func(list *[]map[string]any, key string, values ...any) {
		for _, v := range values {
			*list = append(*list, config(func(top, _ map[string]any) { top[key] = v }))
		}
	}
	repo := func(list *[]map[string]any, key string, values ...any) {
		for _, v := range values {
			*list = append(*list, config(func(_, repo map[string]any) {
				if key == "trusted_authors" { // so that the list is what may be at fault
					repo["trusted_authors_only"] = true
				}
				repo[key] = v
			}))
		}
	}
	name := func(list *[]map[string]any, names ...string) {
		for _, n := range names {
			*list = append(*list, config(func(top, repo map[string]any) { top["repos"] = map[string]any{n: repo} }))
		}
	}
	top(&good, "listen", "127.1.2.3:1", "localhost:65535", "[::1]:80", "unix:///run/x.sock")
	top(&bad, "listen", "", "0.0.0.0:1", "bridge.example:1", ":1", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:01", "127.0.0.1:x",
		"unix://x", "unix:///run/", "unix:/x", "http://127.0.0.1:1", 4701, nil, []any{}, "[::]:1", "127.0.0.1:1 ", "evil127.0.0.1:1")
	for _, listen := range []string{"0.0.0.0:1", "bridge.example:4701", ":1", "[::]:443", "127.0.0.1:1"} {
		good = append(good, config(func(top, _ map[string]any) { top["listen"], top["tls"] = listen, tls }))
	}
	bad = append(bad, config(func(top, _ map[string]any) { top["listen"], top["tls"] = "unix:///x", tls }))
	top(&bad, "tls", map[string]any{"cert_file": "/c"}, map[string]any{"cert_file": "c", "key_file": "/k"}, map[string]any{}, nil, "x",
		map[string]any{"cert_file": "/c", "key_file": "/k", "ca_file": "/a"})
	top(&good, "dir", "/", "/a b")
	top(&bad, "dir", "", "d", "./d", "~/d", 1, nil)
	top(&good, "repos", map[string]any{})
	top(&bad, "repos", nil, []any{}, map[string]any{"a": nil}, map[string]any{"a": "x"})
	top(&bad, "Dir", "/d")
	for _, missing := range []string{"listen", "dir", "repos"} {
		bad = append(bad, config(func(top, _ map[string]any) { delete(top, missing) }))
	}
	name(&good, "a", "é b", "a.b", "#", strings.Repeat("x", 128))
	name(&bad, "", "*", ".a", "-a", "a/b", `a\b`, "a\nb", strings.Repeat("x", 129))
	repo(&good, "forge", "github")
	repo(&bad, "forge", "GitHub", "svn", "", nil, 1)
	repo(&good, "url", "ssh://git@github.com/acme/widgets.git", "git@github.com:acme/widgets.git")
	repo(&bad, "url", "", nil, "-x", "https://github.com/acme/widgets ", "https://u:p@github.com/acme/widgets", "https://u@github.com/acme/widgets",
		"https://github.com/acme/widgets?token=x", "https://github.com/acme/widgets#x", "ssh://git:p@github.com/acme/widgets")
	repo(&good, "api_url", "https://api.github.com", "https://ghe.example/api/v3/", "http://127.0.0.1:3000/api/v1", "http://localhost/x", "http://[::1]:8080")
	repo(&bad, "api_url", "", nil, "http://ghe.example/api/v3", "api.github.com", "ftp://x", "https://", "https://u@x", "https://x?y", "https://x#y", "http://127.0.0.1.evil.example/")
	repo(&bad, "token", "x")
	repo(&good, "trusted_authors_only", true, false)
	repo(&bad, "trusted_authors_only", "true", "yes", 1, nil, []any{})
	repo(&good, "trusted_authors", []any{}, []any{"dependabot[bot]", "octo-cat", "x_y.z"}, []any{strings.Repeat("x", 100)})
	for _, only := range []any{nil, false} {
		bad = append(bad, config(func(_, repo map[string]any) {
			repo["trusted_authors"] = []any{"octocat"}
			if only != nil {
				repo["trusted_authors_only"] = only
			}
		}))
	}
	repo(&bad, "trusted_authors", nil, "octocat", map[string]any{"octocat": true}, []any{"@octocat"}, []any{""}, []any{nil}, []any{1}, []any{"a", "a"},
		[]any{"ghost"}, []any{"GHOST"}, []any{"octo cat"}, []any{"[bot]"}, []any{"-x"}, []any{strings.Repeat("x", 101)}, []any{"é"})
	for _, key := range []string{"mass_mentions", "closing_keywords"} {
		repo(&good, key, "refuse", "allow")
		repo(&bad, key, "", "Allow", true, false, nil, []any{"allow"})
	}
	for _, missing := range []string{"url", "forge"} {
		bad = append(bad, config(func(_, repo map[string]any) { delete(repo, missing) }))
	}
	for _, c := range goodCredentials() {
		top(&good, "credentials", []any{c})
	}
	for _, c := range badCredentials() {
		top(&bad, "credentials", []any{c})
	}
	top(&good, "credentials", []any{})
	top(&bad, "credentials", nil, map[string]any{}, "x")
	return good, bad
}

// appOf is a credential of an app; narrowedApp has one thing more in it.
func appOf(id, installation any) map[string]any {
	return map[string]any{"host": "github.com", "app": map[string]any{"id": id, "installation": installation, "key_file": "/k"}}
}

func narrowedApp(key string, value any) map[string]any {
	c := appOf(1, 2)
	c["app"].(map[string]any)[key] = value
	return c
}

func idsUpTo(n int) []any {
	ids := []any{}
	for id := range n {
		ids = append(ids, id+1)
	}
	return ids
}

func goodCredentials() []any {
	return []any{
		map[string]any{"host": "github.com", "file": "/f"},
		map[string]any{"host": "git.example:8443", "file": "/f"},
		map[string]any{"host": "[::1]:3000", "file": "/f"},
		appOf(1, 2), appOf("Iv1.abc", 2),
		narrowedApp("repository_ids", []any{1, 22}), narrowedApp("repository_ids", idsUpTo(maxAppRepositories)),
		narrowedApp("permissions", map[string]any{"issues": "write", "checks": "read", "x": "admin"}),
	}
}

func badCredentials() []any {
	all := []any{
		map[string]any{"host": "github.com"},
		map[string]any{"file": "/f"},
		map[string]any{"host": "github.com", "file": "f"},
		map[string]any{"host": "https://github.com", "file": "/f"},
		map[string]any{"host": "", "file": "/f"},
		map[string]any{"host": "github.com", "token": "x"},
		map[string]any{"host": "github.com/x", "file": "/f"},
		map[string]any{"host": "u@github.com", "file": "/f"},
		map[string]any{"host": ".x", "file": "/f"},
		map[string]any{"host": "github.com", "file": "/f", "app": appOf(1, 2)["app"]},
		appOf(0, 2), appOf(1, 0), appOf(1, "2"), appOf("", 2), appOf(1.5, 2), appOf(nil, 2), "x", nil,
		narrowedApp("repositories", []any{"widgets"}), narrowedApp("permissions", []any{"issues"}), narrowedApp("permissions", nil),
	}
	for _, ids := range []any{[]any{}, []any{0}, []any{"1"}, []any{1, 1}, 1, nil, []any{1.5}, idsUpTo(maxAppRepositories + 1)} {
		all = append(all, narrowedApp("repository_ids", ids))
	}
	for name, level := range map[string]any{"issues": "all", "Issues": "read", "pull-requests": "read", "checks": nil, "": "read", strings.Repeat("x", 65): "read"} {
		all = append(all, narrowedApp("permissions", map[string]any{name: level}))
	}
	return append(all, narrowedApp("permissions", map[string]any{}))
}

func TestTheSchemaAndParseConfigAgree(t *testing.T) {
	file, err := os.Open("../../api/bridge.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("bridge.schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("bridge.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(doc any, ok bool) {
		t.Helper()
		asYAML, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			t.Fatal(err)
		}
		_, parsed := ParseConfig(asYAML)
		validated := schema.Validate(value)
		if (parsed == nil) != ok || (validated == nil) != ok {
			t.Errorf("%s: ParseConfig says %v and the schema %v; want fit: %v", asJSON, parsed, validated, ok)
		}
	}
	good, bad := documents()
	for _, doc := range good {
		expect(doc, true)
	}
	for _, doc := range bad {
		expect(doc, false)
	}
	for _, doc := range []any{nil, "x", []any{}, 1, map[string]any{}} {
		expect(doc, false)
	}
}

func TestWhatYAMLAllowsAndAConfigDoesNot(t *testing.T) {
	const rest = "dir: /d\nrepos: {}\n"
	for name, text := range map[string]string{
		"nothing":       "",
		"a comment":     "# nothing\n",
		"two documents": "listen: localhost:1\n" + rest + "---\nx: 1\n",
		"a key twice":   "listen: localhost:1\nlisten: localhost:1\n" + rest,
		"an anchor":     "listen: &a localhost:1\n" + rest,
		"an alias":      "x: &a localhost:1\nlisten: *a\n" + rest,
		"a merge":       "<<: {listen: localhost:1}\n" + rest,
		"a number":      "listen: 1\n" + rest,
		"broken":        "listen: [\n" + rest,
		"a tab":         "listen: localhost:1\n\tx: 1\n" + rest,
		"too large":     "listen: localhost:1\n" + rest + strings.Repeat("#", maxConfig),
		"a list as key": "? [a]\n: b\nlisten: localhost:1\n" + rest,
	} {
		t.Run(name, func(t *testing.T) {
			var faults ConfigFaults
			if f, err := ParseConfig([]byte(text)); !errors.As(err, &faults) {
				t.Errorf("ParseConfig = %+v, %v; want faults", f, err)
			}
		})
	}
	if _, err := ParseConfig([]byte("listen: localhost:1\n" + rest)); err != nil {
		t.Errorf("the least that is needed: %v", err)
	}
}

// writeCertificate makes a certificate for 127.0.0.1 with its key.
func writeCertificate(t *testing.T, name string) TLSFiles {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return TLSFiles{filepath.Join(dir, "cert"), filepath.Join(dir, "key")}
}

func TestABridgeServesTLS(t *testing.T) {
	files := writeCertificate(t, "bridge")
	roots := x509.NewCertPool()
	if whole, err := os.ReadFile(files.CertFile); err != nil || !roots.AppendCertsFromPEM(whole) {
		t.Fatal(err)
	}
	f := &File{Listen: "127.0.0.1:0", TLS: &files}
	l, err := f.Listener()
	if err != nil {
		t.Fatal(err)
	}
	b := openBench(t, "", &fakeForge{})
	server := &http.Server{Handler: b.Handler(), ErrorLog: slog.NewLogLogger(b.config.Logger.Handler(), slog.LevelDebug)}
	defer server.Close()
	go func() { _ = server.Serve(l) }()
	caller := clientTo(t, "https://"+l.Addr().String(), b.Local())
	transport := caller.(*Client).http.Transport.(*http.Transport)
	_, err = caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	if e := expectError(t, err, "unavailable/bridge_answer"); !strings.Contains(fmt.Sprint(e.Err), "certificate") {
		t.Errorf("an unknown certificate: %v", e.Err)
	}
	transport.TLSClientConfig.RootCAs = roots
	if _, err := caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"}); err != nil {
		t.Error(err)
	}
	if _, err := (&File{Listen: "127.0.0.1:0", TLS: &TLSFiles{files.CertFile + "-none", files.KeyFile}}).Listener(); err == nil {
		t.Error("a certificate that isn't there was served")
	}
}
