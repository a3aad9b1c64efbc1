package bridge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

func writeSecret(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func authorization(t *testing.T, c Credential) string {
	t.Helper()
	s, err := c.Authorization(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Reveal()
}

func TestEachForgeIsSignedItsWay(t *testing.T) {
	for forge, want := range map[string]string{"github": "Bearer x-y", "gitlab": "Bearer x-y", "gitea": "token x-y"} {
		if got := authorization(t, tokenCredential{id: "id", forge: forge, token: NewSecret("x-y")}); got != want {
			t.Errorf("%s is signed %q, want %q", forge, got, want)
		}
	}
	if got := authorization(t, tokenCredential{id: "id", forge: "github", token: Secret{}}); got != "" {
		t.Errorf("no token is signed %q", got)
	}
}

func TestARotatedFileCountsAtOnce(t *testing.T) {
	path := writeSecret(t, filepath.Join(t.TempDir(), "token"), "first-token\n", 0o600)
	c := NewFileCredential("file", "github", path)
	used, err := c.Authorization(t.Context())
	if err != nil || used.Reveal() != "Bearer first-token" {
		t.Fatalf("Authorization() = %v", err)
	}
	if c.Refused(t.Context(), used) {
		t.Error("the same token is offered after it was refused")
	}
	writeSecret(t, path, "  second-token \r\n", 0o600)
	if !c.Refused(t.Context(), used) {
		t.Error("the new token is not noticed")
	}
	if got := authorization(t, c); got != "Bearer second-token" {
		t.Errorf("Authorization() = %q", got)
	}
}

// The whole way: a file is rotated between two requests, and between a request's being signed and
// its being judged.
func TestARotationIsNoticedByTheNextRequestAndByA401(t *testing.T) {
	path := writeSecret(t, filepath.Join(t.TempDir(), "token"), "first-token", 0o600)
	accepted := "first-token"
	rotate := false
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.note(r)
		if rotate {
			rotate, accepted = false, "third-token"
			writeSecret(t, path, accepted, 0o600)
		}
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Credential = NewFileCredential("file", "github", path) })
	want := func(step, method string, status, requests int) {
		t.Helper()
		before := strings.Count(own.all(), method)
		got, _, err := ask(WithWrite(t.Context()), g, method, forge.URL+commentPath, `{"body":"x"}`)
		if n := strings.Count(own.all(), method) - before; err != nil || got != status || n != requests {
			t.Errorf("%s: %s = %d, %v after %d requests, want %d after %d", step, method, got, err, n, status, requests)
		}
	}
	want("first", "GET", 200, 1)
	accepted = "second-token"
	writeSecret(t, path, accepted, 0o600)
	want("rotated before", "GET", 200, 1)
	rotate = true
	// A 401 proves that the write was not done, so it may be sent under the new token.
	want("rotated within", "POST", 200, 2)
	accepted = "something else"
	want("refused for good", "POST", 401, 1)
	if !strings.HasSuffix(own.all(), `POST `+commentPath+` {"body":"x"}`) {
		t.Errorf("the forge saw %s", own.all())
	}
}

func TestAFileThatIsRewrittenInPlaceIsWaitedFor(t *testing.T) {
	for name, prepare := range map[string]func(path string){
		"empty":   func(path string) { writeSecret(t, path, "", 0o600) },
		"missing": func(string) {},
	} {
		path := filepath.Join(t.TempDir(), "token")
		prepare(path)
		synctest.Test(t, func(t *testing.T) {
			go func() {
				time.Sleep(rotationPause / 2)
				writeSecret(t, path, "token-at-last", 0o600)
			}()
			if got := authorization(t, NewFileCredential("file", "github", path)); got != "Bearer token-at-last" {
				t.Errorf("%s: Authorization() = %q", name, got)
			}
		})
	}
}

func TestAnUnsafeOrUnusableFileIsRefusedWithoutItsText(t *testing.T) {
	dir := t.TempDir()
	good := writeSecret(t, filepath.Join(dir, "good"), sentinel, 0o600)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		path string
		mask os.FileMode
		ok   bool
	}{
		"private":             {good, noOthers, true},
		"a group may read":    {writeSecret(t, filepath.Join(dir, "group"), sentinel, 0o640), noOthers, true},
		"ours, a group reads": {writeSecret(t, filepath.Join(dir, "group2"), sentinel, 0o640), ownerOnly, false},
		"a group may write":   {writeSecret(t, filepath.Join(dir, "group3"), sentinel, 0o660), noOthers, false},
		"others may read":     {writeSecret(t, filepath.Join(dir, "others"), sentinel, 0o644), noOthers, false},
		"a link":              {link, noOthers, true},
		"ours, a link":        {link, ownerOnly, false},
		"missing":             {filepath.Join(dir, "missing"), noOthers, false},
		"empty":               {writeSecret(t, filepath.Join(dir, "empty"), "", 0o600), noOthers, false},
		"blank":               {writeSecret(t, filepath.Join(dir, "blank"), " \n", 0o600), noOthers, false},
		"two lines":           {writeSecret(t, filepath.Join(dir, "lines"), sentinel+"\nX-Other: 1", 0o600), noOthers, false},
		"a blank within":      {writeSecret(t, filepath.Join(dir, "within"), sentinel+" x", 0o600), noOthers, false},
		"not ASCII":           {writeSecret(t, filepath.Join(dir, "utf8"), sentinel+"é", 0o600), noOthers, false},
		"too large":           {writeSecret(t, filepath.Join(dir, "large"), sentinel+strings.Repeat("x", maxSecretFile), 0o600), noOthers, false},
		"a directory":         {dir, noOthers, false},
		"a named pipe":        {fifo, noOthers, false},
	}
	for name, tc := range cases {
		c := fileCredential{id: "file", forge: "github", path: tc.path, mask: tc.mask}
		s, err := c.Authorization(t.Context())
		if (err == nil) != tc.ok || s.IsZero() == tc.ok {
			t.Errorf("%s: Authorization() = %v, want ok %v", name, err, tc.ok)
		}
		if err == nil {
			continue
		}
		if codeOf(err) != "unauthenticated/credential_unusable" || strings.Contains(err.Error(), sentinel) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestACredentialThatCannotBeReadSendsNothing(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { own.note(r) }))
	g := guardOf(t, forge.URL, func(c *GuardConfig) {
		c.Credential = NewFileCredential("file", "github", filepath.Join(t.TempDir(), "missing"))
	})
	ctx := WithWrite(t.Context())
	_, _, err := ask(ctx, g, "POST", forge.URL+commentPath, "{}")
	if codeOf(err) != "unauthenticated/credential_unusable" || own.all() != "" || unclear(ctx) {
		t.Errorf("POST = %v, and the forge saw %q", err, own.all())
	}
	var e *api.Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("the error has no hint: %+v", e)
	}
}

// persistent offers another token after every refusal.
type persistent struct{ asked *int }

func (c persistent) ID() string { return "persistent" }
func (c persistent) Authorization(context.Context) (Secret, error) {
	return NewSecret("Bearer any-token"), nil
}
func (c persistent) Refused(context.Context, Secret) bool { *c.asked++; return true }

func TestARefusedCredentialIsReplacedOnceForEachRequest(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.note(r)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	asked := 0
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Credential = persistent{&asked} })
	if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); status != 401 || err != nil {
		t.Errorf("GET = %d, %v", status, err)
	}
	if n := strings.Count(own.all(), "GET"); n != 2 || asked != 1 {
		t.Errorf("%d requests were sent and %d times another token was asked for, want 2 and 1", n, asked)
	}
}

// The way to a renamed repository is one request.
func TestARefusedCredentialIsReplacedOnceOnTheWholeWay(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.note(r)
		switch n := strings.Count(own.all(), "GET"); n {
		case 2:
			http.Redirect(w, r, "/repositories/77", http.StatusMovedPermanently)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	asked := 0
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Credential = persistent{&asked} })
	if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); status != 401 || err != nil {
		t.Errorf("GET = %d, %v", status, err)
	}
	if own.all() != "GET /repos/a/b; GET /repos/a/b; GET /repositories/77" || asked != 1 {
		t.Errorf("the forge saw %s, and %d times another token was asked for", own.all(), asked)
	}
}
