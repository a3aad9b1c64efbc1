package bridge

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// ask sends one request as the ship and gives status and body.
func askBridge(t *testing.T, url string, ship Secret) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ship.Reveal())
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAnUnboundRepositoryLooksExactlyLikeAMissingOne(t *testing.T) {
	registry := map[string]Registered{"widgets": tools()["widgets"], "bound": tools()["gadgets"]}
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Registry = func() map[string]Registered { return registry } })
	ship, caller := b.grantShip(t, "alpha", "bound", "read")
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	paths := map[string]Request{
		"":             {Op: OpInfo},
		"/issues":      {Op: OpIssueList},
		"/issues/0":    {Op: OpIssueView},
		"/checks?pr=1": {Op: OpChecks, Target: api.Target{Pull: 1}},
		"/pulls/1":     {Op: OpPRView, Number: 1},
	}
	ask := func(path string, r Request) (int, string, string) {
		status, body := askBridge(t, server.URL+"/v1/repos/widgets"+path, ship)
		r.Repo = "widgets"
		_, err := caller.Do(t.Context(), r)
		return status, body, expectError(t, err, "not_found/no_repo").Text()
	}
	for path, r := range paths {
		registry["widgets"] = tools()["widgets"]
		status, body, text := ask(path, r)
		delete(registry, "widgets")
		status2, body2, text2 := ask(path, r)
		if status != 404 || status2 != 404 || body != body2 || text != text2 {
			t.Errorf("%s: unbound %d %s, missing %d %s; want the same", path, status, body, status2, body2)
		}
	}
	delete(registry, "bound")
	_, err := caller.Do(t.Context(), Request{Op: OpInfo, Repo: "bound"})
	bound := expectError(t, err, "not_found/no_repo").Text()
	_, err = caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	if other := expectError(t, err, "not_found/no_repo").Text(); strings.ReplaceAll(other, "widgets", "bound") != bound {
		t.Errorf("granted and gone: %q, unbound: %q", bound, other)
	}
}

func TestAMissingVerbSaysWhatAHumanMustRun(t *testing.T) {
	b := openBench(t, "", &fakeForge{}, func(c *Config) {
		c.Registry = func() map[string]Registered { return map[string]Registered{"my repo": tools()["widgets"]} }
	})
	_, caller := b.grantShip(t, "alpha", "my repo", "read")
	r := comment("done")
	r.Repo = "my repo"
	_, err := caller.Do(t.Context(), r)
	e := expectError(t, err, "forbidden/verb_not_granted")
	if want := "ship bridge grant alpha --repo 'my repo' --verbs read,comment"; !strings.HasSuffix(e.Hint, want) {
		t.Errorf("hint %q, want it to end with %q", e.Hint, want)
	}
	r.Op, r.Event = OpPRReview, "APPROVE"
	_, err = caller.Do(t.Context(), r)
	if e := expectError(t, err, "forbidden/verb_not_granted"); !strings.HasSuffix(e.Hint, "--verbs read,review") {
		t.Errorf("hint %q", e.Hint)
	}
	if b.forge.called("Write") != 0 {
		t.Error("the forge was asked")
	}
	_, caller = b.grantShip(t, "beta", "my repo", "comment")
	_, err = caller.Do(t.Context(), Request{Op: OpInfo, Repo: "my repo"})
	expectError(t, err, "forbidden/verb_not_granted")
	if _, err := caller.Do(t.Context(), func() Request { r := comment("x"); r.Repo = "my repo"; return r }()); err != nil {
		t.Errorf("a granted comment: %v", err)
	}
}

func TestARevokedShipIsRefusedAtOnce(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	ship, caller := b.grantShip(t, "alpha", "widgets", "read", "comment")
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	if status, body := askBridge(t, server.URL+"/v1/repos/widgets", ship); status != 200 {
		t.Fatalf("granted: %d %s", status, body)
	}
	if err := b.desk.revoke("alpha"); err != nil {
		t.Fatal(err)
	}
	revoked, body := askBridge(t, server.URL+"/v1/repos/widgets", ship)
	unknown, body2 := askBridge(t, server.URL+"/v1/repos/widgets", NewSecret("fleet_ship_never"))
	if revoked != 401 || unknown != 401 || body != body2 {
		t.Errorf("revoked %d %s, unknown %d %s; want the same 401", revoked, body, unknown, body2)
	}
	_, err := caller.Do(t.Context(), comment("done"))
	expectError(t, err, "unauthenticated/ship_credential")
	expectError(t, b.desk.revoke("alpha"), "not_found/no_ship")
}

func TestARevocationCountsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.info = func(context.Context) (*api.RepoInfo, error) {
			time.Sleep(10 * time.Second)
			return &api.RepoInfo{}, nil
		}
		f.head = func() (string, error) {
			time.Sleep(5 * time.Second)
			return headSHA, nil
		}
		b := openBench(t, "", f)
		_, caller := b.grantShip(t, "alpha", "widgets", "read", "review")
		errs := make(chan error, 2)
		for _, r := range []Request{{Op: OpInfo, Repo: "widgets"}, review("APPROVE", "")} {
			go func() {
				_, err := caller.Do(context.Background(), r)
				errs <- err
			}()
		}
		time.Sleep(time.Second)
		if err := b.desk.revoke("alpha"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			expectError(t, <-errs, "unauthenticated/ship_credential")
		}
		if n := f.called("Write"); n != 0 {
			t.Errorf("a revoked ship posted %d reviews", n)
		}
	})
}

func TestACredentialIsShownOnceAndItsHashAloneIsKept(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	first, err := b.desk.grant(api.GrantRequest{Ship: "alpha", Repo: "widgets", Verbs: []string{"comment", "read"}})
	if err != nil || !strings.HasPrefix(first.Credential, "fleet_ship_") || len(first.Credential) != len("fleet_ship_")+43 {
		t.Fatalf("grant = %+v (%v), want a credential", first, err)
	}
	second, err := b.desk.grant(api.GrantRequest{Ship: "alpha", Repo: "gadgets", Verbs: []string{"read"}})
	if err != nil || second.Credential != "" || len(second.Repos) != 2 {
		t.Errorf("a second grant = %+v (%v), want two repositories and no credential", second, err)
	}
	narrowed, err := b.desk.grant(api.GrantRequest{Ship: "alpha", Repo: "widgets", Verbs: []string{"read"}})
	if err != nil || len(narrowed.Repos["widgets"]) != 1 {
		t.Errorf("narrowed = %+v (%v), want read alone", narrowed, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{storeFile, auditFile} {
		raw, err := os.ReadFile(filepath.Join(b.dir, name))
		if err != nil || bytes.Contains(raw, []byte(first.Credential)) || bytes.Contains(raw, []byte(first.Credential[11:])) {
			t.Errorf("%s holds the credential (%v)", name, err)
		}
		if info, err := os.Stat(filepath.Join(b.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v (%v), want mode 0600", name, info.Mode(), err)
		}
	}
	again := openBench(t, b.dir, &fakeForge{})
	if _, err := again.As(NewSecret(first.Credential)).Do(t.Context(), Request{Op: OpInfo, Repo: "gadgets"}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestTheEmbeddedShipMayDoEverythingUntilItIsNarrowed(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	granted, err := b.desk.grant(api.GrantRequest{Ship: localShip, Repo: "widgets", Verbs: []string{"read"}})
	if err != nil || granted.Credential != "" || !granted.Embedded {
		t.Fatalf("grant = %+v (%v), want no credential", granted, err)
	}
	_, err = b.do(comment("more"))
	expectError(t, err, "forbidden/verb_not_granted")
	_, err = b.do(Request{Op: OpInfo, Repo: "gadgets"})
	expectError(t, err, "not_found/no_repo")
	if err := b.desk.revoke(localShip); err != nil {
		t.Fatal(err)
	}
	_, err = b.do(Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "not_found/no_repo")
	_ = b.Close()
	again := openBench(t, b.dir, &fakeForge{})
	_, err = again.do(Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "not_found/no_repo")
	if _, err := again.desk.grant(api.GrantRequest{Ship: localShip, Repo: api.AllRepos, Verbs: verbs()}); err != nil {
		t.Fatal(err)
	}
	if _, err := again.do(comment("more")); err != nil {
		t.Errorf("everything granted again: %v", err)
	}
}

func TestABridgeOfItsOwnLetsNobodyInWithoutAGrant(t *testing.T) {
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Embedded = false })
	for name, ship := range map[string]Secret{"none": {}, "local": b.Local(), "a guess": NewSecret("x")} {
		_, err := b.As(ship).Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
		if e := expectError(t, err, "unauthenticated/ship_credential"); e.Hint == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	g, err := b.desk.grant(api.GrantRequest{Ship: localShip, Repo: "widgets", Verbs: verbs()})
	if err != nil || g.Credential == "" {
		t.Errorf("a ship that happens to be called local: %+v (%v), want a credential", g, err)
	}
}

func TestOperatorsGrantOnTheFilesAndThroughTheSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b")
	socket := filepath.Join(dir, "bridge.sock")
	config := AdminConfig{Dir: dir, Socket: socket, Embedded: true}
	withAdmin := func(use func(Admin)) {
		t.Helper()
		a, err := OpenAdmin(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		use(a)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	var alpha, beta *api.Granted
	withAdmin(func(a Admin) {
		var err error
		if alpha, err = a.Grant(t.Context(), api.GrantRequest{Ship: "alpha", Repo: "widgets", Verbs: []string{"read"}}); err != nil || alpha.Credential == "" {
			t.Fatalf("on the files: %+v (%v)", alpha, err)
		}
	})
	b := openBench(t, dir, &fakeForge{})
	_, err := OpenAdmin(t.Context(), config)
	expectError(t, err, "unavailable/bridge_socket")
	l, err := ListenSocket(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, b.AdminHandler(), b.config.Logger) }()
	defer func() { cancel(); <-served }()
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v (%v), want mode 0600", info.Mode(), err)
	}
	if _, err := ListenSocket(socket); err == nil {
		t.Error("a second listener took the socket away")
	}
	withAdmin(func(a Admin) {
		if beta, err = a.Grant(t.Context(), api.GrantRequest{Ship: "beta", Repo: "nowhere", Verbs: []string{"read"}}); err != nil || !strings.Contains(beta.Note, "nowhere") {
			t.Fatalf("through the socket: %+v (%v)", beta, err)
		}
		if _, err := a.Grant(t.Context(), api.GrantRequest{Ship: "beta", Repo: "widgets", Verbs: []string{"write"}}); err == nil || !strings.Contains(err.Error(), "write") {
			t.Errorf("an unknown verb: %v", err)
		}
		if _, err := b.As(NewSecret(alpha.Credential)).Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"}); err != nil {
			t.Errorf("granted on the files: %v", err)
		}
		all, err := a.List(t.Context())
		if err != nil || len(all.Grants) != 3 || all.Grants[0].Ship != "alpha" || all.Grants[2].Ship != localShip || !all.Grants[2].Embedded {
			t.Errorf("List() = %+v (%v), want alpha, beta and local", all, err)
		}
		if err := a.Revoke(t.Context(), "alpha"); err != nil {
			t.Fatal(err)
		}
		_, err = b.As(NewSecret(alpha.Credential)).Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
		expectError(t, err, "unauthenticated/ship_credential")
		expectError(t, a.Revoke(t.Context(), "alpha"), "not_found/no_ship")
		if report, err := a.VerifyAudit(t.Context()); err != nil || report.Lines != 3 || len(report.Faults) != 0 {
			t.Errorf("VerifyAudit() = %+v (%v), want three lines in order", report, err)
		}
	})
}

func TestTwoBridgesDoNotShareADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		_, err := Open(t.Context(), configOf(t, b.dir, &fakeForge{}, &talk.Words{}))
		if err == nil || !strings.Contains(err.Error(), "running") {
			t.Errorf("Open = %v, want that one is running", err)
		}
	})
}

func TestFilesThatOthersCanOpenAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"directory": func(dir string) error { return os.Chmod(dir, 0o755) },
		"database":  func(dir string) error { return os.Chmod(filepath.Join(dir, storeFile), 0o640) },
		"audit":     func(dir string) error { return os.Chmod(filepath.Join(dir, auditFile), 0o644) },
		"a link": func(dir string) error {
			elsewhere := filepath.Join(dir, "x")
			if err := os.Rename(filepath.Join(dir, auditFile), elsewhere); err != nil {
				return err
			}
			return os.Symlink(elsewhere, filepath.Join(dir, auditFile))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t, "", &fakeForge{})
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if err := spoil(b.dir); err != nil {
				t.Fatal(err)
			}
			if again, err := Open(t.Context(), configOf(t, b.dir, &fakeForge{}, &talk.Words{})); err == nil {
				t.Errorf("Open took it; Close: %v", again.Close())
			}
		})
	}
}
