package bridge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"fleet/api"
)

// traces are the forms in which a secret is looked for, its parts too.
func traces(secret string) map[string]string {
	return map[string]string{
		"head": secret[:min(len(secret), 24)], "tail": secret[max(0, len(secret)-24):],
		"hex": fmt.Sprintf("%x", secret[:12]), "base64": base64.StdEncoding.EncodeToString([]byte(secret))[:16],
		"bytes": strings.Trim(fmt.Sprint([]byte(secret[:8])), "[]"),
	}
}

func showsSecret(t *testing.T, where, text, secret string) {
	t.Helper()
	for form, trace := range traces(secret) {
		if strings.Contains(text, trace) {
			t.Errorf("%s shows the secret's %s", where, form)
		}
	}
}

// printed is everything that fmt, slog, encoding/json and a panic make of v.
func printed(v any) string {
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p"} {
		fmt.Fprintf(&out, verb+"\n", v)
		fmt.Fprintf(&out, verb+"\n", []any{v})
		fmt.Fprintf(&out, verb+"\n", struct {
			Public any
			hidden any
		}{v, v})
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	_ = json.NewEncoder(&out).Encode(v)
	func() {
		defer func() { fmt.Fprintf(&out, "%v %+v", recover(), v) }()
		panic(v)
	}()
	return out.String()
}

func sentinels() map[string]string {
	return map[string]string{
		"github app":     longSecret(),
		"github classic": "ghp_Zx81kQw90vTrYb37LmNcEoPaSdFgHjKl2345",
		"github fine":    "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789abcdefghijklmnopqrstuvwxyzABCDEF",
		"gitlab":         "glpat-x7Yq-9Zr_4tWvB2nM8kL",
		"gitea":          "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
	}
}

// mirror is a forge that shows all it was sent: in its answers of every status, their headers and
// where it redirects to.
func mirror(w http.ResponseWriter, r *http.Request) {
	sent := r.Header.Get("Authorization")
	status := 200
	_, _ = fmt.Sscanf(r.URL.Path, "/status/%d", &status)
	w.Header().Set("X-Debug", "you sent "+sent)
	w.Header().Set("Location", "http://127.0.0.2:1/?token="+sent)
	w.Header().Set("WWW-Authenticate", sent)
	w.Header().Set("X-"+sent[strings.LastIndex(sent, " ")+1:], "y")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"message":"bad token %s","again":%q}`, sent, sent)
}

func TestAForgeThatShowsTheCredentialIsMasked(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(mirror))
	for name, secret := range sentinels() {
		for _, kind := range []string{"github", "gitea"} {
			var logged bytes.Buffer
			g := guardOf(t, forge.URL, func(c *GuardConfig) {
				c.Credential = tokenCredential{id: "test", forge: kind, token: NewSecret(secret)}
				c.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			for _, status := range []int{200, 201, 301, 302, 307, 400, 401, 403, 404, 422, 429, 500, 502} {
				for _, method := range []string{"GET", "POST"} {
					var out bytes.Buffer
					req, _ := http.NewRequestWithContext(WithLogRedirect(t.Context()), method, fmt.Sprintf("%s/status/%d", forge.URL, status), nil)
					resp, err := g.Client().Do(req)
					if err != nil {
						for e := err; e != nil; e = errors.Unwrap(e) {
							out.WriteString(printed(e))
						}
					} else {
						text, _ := io.ReadAll(resp.Body)
						_ = resp.Body.Close()
						fmt.Fprintf(&out, "%s %v %+v %+v", text, resp.Header, resp.Request, resp)
						if !strings.Contains(string(text), redacted) {
							t.Errorf("%s: the answer %d does not say that something was masked: %s", name, status, text)
						}
					}
					showsSecret(t, fmt.Sprintf("%s: %s answered %d", name, method, status), out.String(), secret)
				}
			}
			showsSecret(t, name+": the log", logged.String(), secret)
		}
	}
}

func TestNoTypeOfOursPrintsACredential(t *testing.T) {
	f, s, app, _ := newAppForge(t)
	for name, secret := range sentinels() {
		store := storeOf(t, CredentialStoreConfig{
			Dir: t.TempDir(), Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(secret)},
			Registered: registered(t, "github", s.URL),
		})
		dynamic, err := store.For("github", parse(t, s.URL))
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.valid = secret
		f.mu.Unlock()
		g := guardOf(t, s.URL, func(c *GuardConfig) { c.Credential = dynamic })
		for range 2 {
			if status, _, err := ask(t.Context(), g, "GET", s.URL+"/repos/a/b", ""); err != nil || status != 200 {
				t.Fatalf("GET = %d, %v", status, err)
			}
		}
		token := tokenCredential{id: "id", forge: "github", token: NewSecret(secret)}
		file := NewFileCredential("id", "github", writeSecret(t, filepath.Join(t.TempDir(), "token"), secret, 0o600))
		config := GuardConfig{API: parse(t, s.URL), Credential: token}
		values := map[string]any{
			"Guard": g, "its client": g.Client(), "its transport": g.Client().Transport, "GuardConfig": config,
			"store": store, "credential": dynamic, "token": token, "file": file,
			"store config": CredentialStoreConfig{Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(secret)}},
		}
		for what, v := range values {
			showsSecret(t, name+": "+what, printed(v), secret)
		}
	}
	if _, err := app.Authorization(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, _, _ := strings.Cut(strings.SplitN(keyPEM(t, testKey(), false), "\n", 2)[1], "\n-----END")
	for what, v := range map[string]any{"App": app, "App's config": app.config} {
		showsSecret(t, what, printed(v), f.valid)
		showsSecret(t, what, printed(v), key)
	}
}

// A secret that an answer's pieces cut in two is masked all the same, and nothing else is changed.
func TestAMaskSeesThroughEveryCut(t *testing.T) {
	const secret = "abcabcabd-secret"
	if got, _ := io.ReadAll(newMask(strings.NewReader("a word"), NewSecret("Bearer word"))); string(got) != "a word" {
		t.Errorf("a word that is somebody's token became %q", got)
	}
	text := "abcabcabc abcabcabd-secre" + secret + "abcabc" + secret + secret[:5] + "\x00abcabcabd" + secret
	want := strings.ReplaceAll(text, secret, redacted)
	readers := map[string]func(r io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader, "by halves": iotest.HalfReader,
		"with its end": iotest.DataErrReader,
	}
	for name, reader := range readers {
		got, err := io.ReadAll(newMask(reader(strings.NewReader(text)), NewSecret("Bearer "+secret)))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range random.IntN(20) {
			b.WriteString(secret[:random.IntN(len(secret)+1)])
		}
		text := b.String()
		got, err := io.ReadAll(newMask(iotest.OneByteReader(strings.NewReader(text)), NewSecret(secret)))
		if want := strings.ReplaceAll(text, secret, redacted); err != nil || string(got) != want {
			t.Fatalf("%q became %q, %v, want %q", text, got, err, want)
		}
	}
	broken := errors.New("broken")
	got, err := io.ReadAll(newMask(io.MultiReader(strings.NewReader("x"+secret[:4]), iotest.ErrReader(broken)), NewSecret(secret)))
	if string(got) != "x"+secret[:4] || !errors.Is(err, broken) {
		t.Errorf("a text that breaks off became %q, %v", got, err)
	}
}

// What the operator's log is given of an error is its cause.
func TestTheCauseOfAFaultIsInOurOwnWords(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nyou sent %s\r\n\r\n", r.Header.Get("Authorization"))
	}))
	g := guardOf(t, forge.URL)
	_, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", "")
	var e *api.Error
	if !errors.As(err, &e) || e.Err == nil {
		t.Fatalf("GET = %v, want an error with a cause", err)
	}
	showsSecret(t, "the cause", fmt.Sprintf("%v %+v %#v", e.Err, e, e), sentinel)
	if got := e.Err.Error(); got != "the connection broke" {
		t.Errorf("the cause is %q", got)
	}
}

func TestTheStatusLineAndItsTrailersAreMaskedToo(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sent := r.Header.Get("Authorization")
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 %s\r\nX %s: y\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n1\r\nx\r\n0\r\nX-Late: %s\r\n\r\n", sent, sent, sent)
	}))
	resp, err := guardOf(t, forge.URL).Client().Get(forge.URL + "/repos/a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "x" {
		t.Errorf("the answer is %q, %v", text, err)
	}
	showsSecret(t, "the head", fmt.Sprintf("%+v", resp), sentinel)
}
