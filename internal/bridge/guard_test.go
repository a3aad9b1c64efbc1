package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fleet/api"
)

const sentinel = "sentinel-7f3a9c51d2e84b60"

// serveOn runs a server on an address of its own: 127.0.0.1 and 127.0.0.2 are different hosts.
func serveOn(t *testing.T, ip string, h http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// guardOf makes a Guard for the API at address, signing with sentinel.
func guardOf(t *testing.T, address string, change ...func(*GuardConfig)) *Guard {
	t.Helper()
	c := GuardConfig{API: parse(t, address), Credential: tokenCredential{id: "test", forge: forgeGitHub, token: NewSecret(sentinel)}}
	for _, f := range change {
		f(&c)
	}
	g, err := NewGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// ask sends a request through g and reads the whole answer.
func ask(ctx context.Context, g *Guard, method, address, body string) (int, string, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return 0, "", err
	}
	resp, err := g.Client().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// codeOf gives code and reason of an error, as one word to compare.
func codeOf(err error) string {
	var e *api.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("%v", err)
	}
	return string(e.Code) + "/" + e.Reason
}

// record remembers the requests that came to a stand-in.
type record struct {
	mu    sync.Mutex
	lines []string
	auth  []string
}

func (r *record) note(req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, strings.TrimSpace(req.Method+" "+req.URL.RequestURI()+" "+string(body)))
	r.auth = append(r.auth, req.Header.Get("Authorization"))
}

func (r *record) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "; ")
}

func (r *record) signatures() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.auth, "; ")
}

func TestAnAPIAddressMustBePlainHTTPSOrOnLoopback(t *testing.T) {
	cases := map[string]bool{
		"https://api.github.com":         true,
		"https://ghes.example/api/v3":    true,
		"http://127.0.0.1:4000":          true,
		"http://[::1]:4000/api/v3":       true,
		"http://localhost:4000":          true,
		"http://github.localhost:4000":   true,
		"http://api.github.com":          false,
		"http://10.0.0.7":                false,
		"http://localhost.example.com":   false,
		"http://127.0.0.1.example.com":   false,
		"https://user:pw@api.github.com": false,
		"https://api.github.com?x=1":     false,
		"https://api.github.com#x":       false,
		"ftp://127.0.0.1":                false,
		"https://":                       false,
		"https://:443":                   false,
		"api.github.com":                 false,
	}
	for address, want := range cases {
		_, err := NewGuard(GuardConfig{API: parse(t, address)})
		if (err == nil) != want {
			t.Errorf("NewGuard(%s) = %v, want ok %v", address, err, want)
		}
	}
	if _, err := NewGuard(GuardConfig{}); err == nil {
		t.Error("NewGuard took no address at all")
	}
}

func TestTheCredentialGoesToItsHostAndToNoOther(t *testing.T) {
	var own, other, port record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { own.note(r) }))
	foreign := serveOn(t, "127.0.0.2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { other.note(r) }))
	sibling := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { port.note(r) }))
	g := guardOf(t, forge.URL)

	if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil {
		t.Fatal(err)
	}
	if got := own.signatures(); got != "Bearer "+sentinel {
		t.Errorf("the forge got Authorization %q", got)
	}
	refused := []string{
		foreign.URL + "/repos/a/b",
		sibling.URL + "/repos/a/b",
		strings.Replace(forge.URL, "http://", "https://", 1) + "/repos/a/b",
		strings.Replace(forge.URL, "127.0.0.1", "localhost", 1) + "/repos/a/b",
		strings.Replace(forge.URL, "http://", "http://user@", 1) + "/repos/a/b",
	}
	for _, address := range refused {
		if _, _, err := ask(t.Context(), g, "GET", address, ""); codeOf(err) != "forbidden/foreign_host" {
			t.Errorf("GET %s = %v, want it refused", address, err)
		}
	}
	if other.all() != "" || port.all() != "" || own.all() != "GET /repos/a/b" {
		t.Errorf("requests reached %q, %q and %q", own.all(), other.all(), port.all())
	}
}

func TestAForeignHostHeaderIsRefused(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { own.note(r) }))
	req, _ := http.NewRequest("GET", forge.URL+"/repos/a/b", nil)
	req.Host = "elsewhere.example"
	if _, err := guardOf(t, forge.URL).Client().Do(req); codeOf(err) != "forbidden/foreign_host" || own.all() != "" {
		t.Errorf("a request with another Host = %v, and the forge saw %q", err, own.all())
	}
}

// go-github and its kin may add headers of their own; a forge must see the Guard's.
func TestOnlyTheGuardSigns(t *testing.T) {
	var got http.Header
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header }))
	req, _ := http.NewRequest("POST", forge.URL+"/repos/a/b/issues/1/comments", strings.NewReader("{}"))
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "PRIVATE-TOKEN", "Idempotency-Key", "X-Idempotency-Key", "Referer"} {
		req.Header.Set(name, "mine")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := guardOf(t, forge.URL).Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for name, values := range got {
		for _, v := range values {
			if v == "mine" {
				t.Errorf("the forge got the caller's %s", name)
			}
		}
	}
	if got.Get("Authorization") != "Bearer "+sentinel || got.Get("Accept") != "application/json" {
		t.Errorf("the forge got Authorization %q and Accept %q", got.Get("Authorization"), got.Get("Accept"))
	}
	if resp.Request != req || resp.Request.Header.Get("Authorization") != "mine" {
		t.Error("the response gives away the request that was signed")
	}
}

func TestWithoutACredentialReadsAreAnonymousAndWritesRefused(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { own.note(r) }))
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Credential = nil })
	if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil || status != 200 {
		t.Errorf("GET = %d, %v", status, err)
	}
	if _, _, err := ask(t.Context(), g, "POST", forge.URL+"/repos/a/b/issues/1/comments", "{}"); codeOf(err) != "unavailable/no_credential" {
		t.Errorf("POST = %v, want it refused", err)
	}
	if own.all() != "GET /repos/a/b" || own.signatures() != "" {
		t.Errorf("the forge saw %q signed %q", own.all(), own.signatures())
	}
}

func TestAPathThatClimbsIsNotSent(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { own.note(r) }))
	g := guardOf(t, forge.URL)
	for _, path := range []string{
		"/repos/a/b/../../c/d", "/repos/a/b/%2e%2e/c", "/repos/a/b/commits/..%2f..%2fx/status",
		"/repos/a/b//c", "/repos/a/b/.%2e/c", "/repos/a/b/%5c..%5cc", "/repos/a/b/./c", "/repos/a/b/%00",
	} {
		if _, _, err := ask(t.Context(), g, "GET", forge.URL+path, ""); codeOf(err) != "invalid/path" {
			t.Errorf("GET %s = %v, want it refused", path, err)
		}
	}
	good := "/repos/a/b/commits/feature%2Fx%20y%23z%3F/status"
	if _, _, err := ask(t.Context(), g, "GET", forge.URL+good, ""); err != nil {
		t.Errorf("GET %s = %v", good, err)
	}
	if own.all() != "GET "+good {
		t.Errorf("the forge saw %q", own.all())
	}
}

func TestAnAnswerOverTheLimitFailsLoudly(t *testing.T) {
	const limit = 1000
	for name, declared := range map[string]bool{"declared": true, "streamed": false} {
		for size, want := range map[int]string{limit: "<nil>", limit + 1: "unavailable/answer_too_large"} {
			forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if declared {
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				for range size {
					_, _ = w.Write([]byte("x"))
				}
			}))
			g := guardOf(t, forge.URL, func(c *GuardConfig) { c.MaxBody = limit })
			_, text, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", "")
			if codeOf(err) != want || len(text) > limit {
				t.Errorf("%s, %d bytes: %d read, %v, want %s", name, size, len(text), err, want)
			}
		}
	}
}

// A kilobyte on the wire may unpack to a gigabyte.
func TestTheLimitCountsWhatWasUnpacked(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", packed(1<<20))
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.MaxBody = 1 << 16 })
	_, text, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", "")
	if codeOf(err) != "unavailable/answer_too_large" || len(text) != 1<<16 {
		t.Errorf("GET = %d bytes, %v", len(text), err)
	}
}

func TestAWriteWhoseAnswerIsOverTheLimitMayBeDone(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	}))
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.MaxBody = 1000 })
	ctx := WithWrite(t.Context())
	_, _, err := ask(ctx, g, "POST", forge.URL+"/repos/a/b/issues/1/comments", "{}")
	if codeOf(err) != "outcome_unknown/answer_too_large" || !unclear(ctx) {
		t.Errorf("POST = %v, may be done %v", err, unclear(ctx))
	}
}

func TestEightAtOnce(t *testing.T) {
	var mu sync.Mutex
	running, peak := 0, 0
	full, open := make(chan struct{}), make(chan struct{})
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		running++
		if peak = max(peak, running); running == parallelCalls {
			close(full)
		}
		mu.Unlock()
		<-open
		mu.Lock()
		running -= 100 // those that come later count for nothing
		mu.Unlock()
	}))
	g := guardOf(t, forge.URL)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil {
				t.Error(err)
			}
		})
	}
	<-full
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := ask(ctx, g, "GET", forge.URL+"/repos/a/b", ""); codeOf(err) != "unavailable/busy" {
		t.Errorf("the ninth = %v, want busy", err)
	}
	close(open)
	wg.Wait()
	if peak != parallelCalls {
		t.Errorf("%d requests were under way at once, want %d", peak, parallelCalls)
	}
	if len(g.slots) != 0 {
		t.Errorf("%d places are still taken", len(g.slots))
	}
}

func TestAnAnswerThatIsReadToItsEndGivesItsPlaceBack(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	g := guardOf(t, forge.URL)
	resp, err := g.Client().Get(forge.URL + "/repos/a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	log, err := g.Download(t.Context(), serveOn(t, "127.0.0.2", forge.Config.Handler).URL, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if len(g.slots) != 1 || len(g.downloads) != 1 {
		t.Errorf("%d and %d places are taken while an answer and a log are read", len(g.slots), len(g.downloads))
	}
	_, _ = io.ReadAll(resp.Body)
	_, _ = io.ReadAll(log)
	if len(g.slots) != 0 || len(g.downloads) != 0 {
		t.Errorf("%d and %d places are still taken", len(g.slots), len(g.downloads))
	}
}

func TestAnAnswerThatIsClosedUnreadGivesItsPlaceBack(t *testing.T) {
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
	}))
	g := guardOf(t, forge.URL)
	for range 2 * parallelCalls {
		resp, err := g.Client().Get(forge.URL + "/repos/a/b")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		_ = resp.Body.Close()
	}
	if len(g.slots) != 0 {
		t.Errorf("%d places are still taken", len(g.slots))
	}
}
