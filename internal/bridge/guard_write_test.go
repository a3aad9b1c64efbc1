package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

const commentPath = "/repos/a/b/issues/1/comments"

// wire is a stand-in on the level of connections: play is given each one, with what number it has.
type wire struct {
	url string

	mu       sync.Mutex
	requests []string // request lines that came in whole
}

func newWire(t *testing.T, play func(w *wire, number int, conn net.Conn)) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for number := 1; ; number++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				play(w, number, conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return w
}

// take reads one whole request.
func (w *wire) take(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	if _, err := io.ReadAll(req.Body); err != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, req.Method)
	return true
}

func (w *wire) seen(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range w.requests {
		if m == method {
			n++
		}
	}
	return n
}

func TestAForgeThatCannotBeReachedWasSentNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	address := "http://" + l.Addr().String()
	transports := map[string]http.RoundTripper{"ours": nil, "given": &http.Transport{}}
	for name, transport := range transports {
		g := guardOf(t, address, func(c *GuardConfig) { c.Transport = transport })
		ctx := WithWrite(t.Context())
		_, _, err := ask(ctx, g, "POST", address+commentPath, "{}")
		if codeOf(err) != "unavailable/unreachable" || unclear(ctx) {
			t.Errorf("%s: POST = %v, may be done %v", name, err, unclear(ctx))
		}
		if e := AsError(ctx, err); e == nil || codeOf(e) != "unavailable/unreachable" {
			t.Errorf("%s: AsError = %v", name, e)
		}
	}
}

func TestAWriteIsSentOnceWhereverItsConnectionBreaks(t *testing.T) {
	cases := map[string]struct {
		play  func(w *wire, conn net.Conn)
		posts int
	}{
		"before the request": {func(_ *wire, _ net.Conn) {}, 0},
		"within the head": {func(_ *wire, conn net.Conn) {
			_, _ = io.CopyN(io.Discard, conn, 10)
		}, 0},
		"within the body": {func(_ *wire, conn net.Conn) {
			_, _ = io.CopyN(io.Discard, conn, 5000)
		}, 0},
		"after the request": {func(w *wire, conn net.Conn) {
			w.take(bufio.NewReader(conn))
		}, 1},
		"after 100 Continue": {func(w *wire, conn net.Conn) {
			w.take(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		}, 1},
		"with something that is no HTTP": {func(w *wire, conn net.Conn) {
			w.take(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "Authorization: Bearer "+sentinel+"\r\n\r\n")
		}, 1},
	}
	for name, tc := range cases {
		for _, given := range []bool{false, true} {
			w := newWire(t, func(w *wire, _ int, conn net.Conn) { tc.play(w, conn) })
			g := guardOf(t, w.url, func(c *GuardConfig) {
				if given {
					c.Transport = &http.Transport{}
				}
			})
			ctx := WithWrite(t.Context())
			_, _, err := ask(ctx, g, "POST", w.url+commentPath, strings.Repeat("x", 100_000))
			if codeOf(err) != "outcome_unknown/connection_broken" || !unclear(ctx) {
				t.Errorf("%s: POST = %v, may be done %v", name, err, unclear(ctx))
			}
			if n := w.seen("POST"); n != tc.posts {
				t.Errorf("%s: the forge saw %d requests, want %d", name, n, tc.posts)
			}
			if text := fmt.Sprintf("%+v %v", err, errors.Unwrap(AsError(ctx, err))); strings.Contains(text, sentinel) {
				t.Errorf("%s: the error quotes the credential: %s", name, text)
			}
		}
	}
}

// A connection cut after N bytes of the answer, for every N: the write is never sent again, and
// nobody is told that it failed.
func TestAnAnswerCutAnywhereLeavesTheOutcomeUnknown(t *testing.T) {
	answers := map[string]string{
		"with a length": "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"id\":1}",
		"in chunks":     "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":1}\r\n0\r\n\r\n",
	}
	for name, answer := range answers {
		for cut := range len(answer) + 1 {
			w := newWire(t, func(w *wire, _ int, conn net.Conn) {
				w.take(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, answer[:cut])
			})
			ctx := WithWrite(t.Context())
			status, text, err := ask(ctx, guardOf(t, w.url), "POST", w.url+commentPath, "{}")
			if err == nil && (status != 201 || text != `{"id":1}`) {
				t.Errorf("%s, cut after %d: POST = %d %q without an error", name, cut, status, text)
			}
			if err != nil && codeOf(err) != "outcome_unknown/connection_broken" {
				t.Errorf("%s, cut after %d: POST = %v", name, cut, err)
			}
			if cut == len(answer) && err != nil {
				t.Errorf("%s, whole: POST = %v", name, err)
			}
			if n := w.seen("POST"); n != 1 || !unclear(ctx) {
				t.Errorf("%s, cut after %d: the forge saw %d requests, may be done %v", name, cut, n, unclear(ctx))
			}
		}
	}
}

// dying answers the first request of its first connection, and closes it on the second. Other
// connections serve one request each.
func dying(w *wire, number int, conn net.Conn) {
	r := bufio.NewReader(conn)
	if !w.take(r) {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	if number == 1 {
		w.take(r)
	}
}

// net/http sends a request again where a kept connection turns out dead, a POST too if it carries
// an Idempotency-Key.
func TestAWriteIsNotSentAgainWhenAKeptConnectionHasDied(t *testing.T) {
	for given, want := range map[bool]string{false: "<nil>", true: "outcome_unknown/connection_broken"} {
		w := newWire(t, dying)
		g := guardOf(t, w.url, func(c *GuardConfig) {
			if given {
				c.Transport = &http.Transport{}
			}
		})
		if _, _, err := ask(t.Context(), g, "GET", w.url+"/repos/a/b", ""); err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(WithWrite(t.Context()), "POST", w.url+commentPath, strings.NewReader("{}"))
		req.Header.Set("Idempotency-Key", "0198c0de")
		resp, err := g.Client().Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		// A write of ours meets no kept connection at all.
		if codeOf(err) != want || w.seen("POST") != 1 {
			t.Errorf("a given transport %v: POST = %v, and the forge saw %d", given, err, w.seen("POST"))
		}
	}
}

// failing is a transport that is none of net/http's.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestAnotherTransportsErrorIsDoubtUnlessItIsSure(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code string
	}{
		"something":  {errors.New(sentinel), "outcome_unknown/connection_broken"},
		"a dial":     {&net.OpError{Op: "dial", Err: errors.New(sentinel)}, "unavailable/unreachable"},
		"a read":     {&net.OpError{Op: "read", Err: errors.New(sentinel)}, "outcome_unknown/connection_broken"},
		"a name":     {&net.DNSError{Name: sentinel}, "unavailable/unreachable"},
		"an API one": {refusedRedirect("another host"), "forbidden/redirect_refused"},
	} {
		g := guardOf(t, "http://127.0.0.1:1", func(c *GuardConfig) { c.Transport = failing{tc.err} })
		ctx := WithWrite(t.Context())
		_, _, err := ask(ctx, g, "POST", "http://127.0.0.1:1"+commentPath, "{}")
		if codeOf(err) != tc.code || strings.Contains(fmt.Sprint(err, errors.Unwrap(errors.Unwrap(err))), sentinel) {
			t.Errorf("%s: POST = %v, want %s", name, err, tc.code)
		}
		if sure := strings.HasPrefix(tc.code, "unavailable"); unclear(ctx) == sure {
			t.Errorf("%s: may be done %v", name, unclear(ctx))
		}
	}
}

func TestAReadIsSentAgainWhenAKeptConnectionHasDied(t *testing.T) {
	w := newWire(t, func(w *wire, _ int, conn net.Conn) {
		r := bufio.NewReader(conn)
		if w.take(r) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			w.take(r)
		}
	})
	g := guardOf(t, w.url)
	for range 3 {
		if _, text, err := ask(t.Context(), g, "GET", w.url+"/repos/a/b", ""); err != nil || text != "{}" {
			t.Errorf("GET = %q, %v", text, err)
		}
	}
	if w.seen("GET") != 5 {
		t.Errorf("the forge saw %d requests, want 3 and 2 again", w.seen("GET"))
	}
}

func TestAnAnswerCutShortIsAnErrorOfARead(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"id\":1}"
	for cut := range len(answer) {
		w := newWire(t, func(w *wire, _ int, conn net.Conn) {
			w.take(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, answer[:cut])
		})
		if _, _, err := ask(t.Context(), guardOf(t, w.url), "GET", w.url+"/repos/a/b", ""); codeOf(err) != "unavailable/connection_broken" {
			t.Errorf("cut after %d: GET = %v", cut, err)
		}
	}
}

func TestARefusalStaysARefusal(t *testing.T) {
	w := newWire(t, func(w *wire, _ int, conn net.Conn) {
		w.take(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 422 Unprocessable Entity\r\nContent-Length: 100\r\n\r\n{\"mess")
	})
	ctx := WithWrite(t.Context())
	status, _, err := ask(ctx, guardOf(t, w.url), "POST", w.url+commentPath, "{}")
	if status != 422 || codeOf(err) != "unavailable/connection_broken" || unclear(ctx) {
		t.Errorf("POST = %d, %v, may be done %v; a 422 says that it was not", status, err, unclear(ctx))
	}
}

func TestAServerErrorLeavesAWriteInDoubt(t *testing.T) {
	for status, want := range map[int]bool{200: true, 201: true, 403: false, 404: false, 422: false, 429: false, 500: true, 502: true, 504: true} {
		forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		ctx := WithWrite(t.Context())
		got, _, err := ask(ctx, guardOf(t, forge.URL), "POST", forge.URL+commentPath, "{}")
		if err != nil || got != status || unclear(ctx) != want {
			t.Errorf("POST = %d, %v, may be done %v, want %d and %v", got, err, unclear(ctx), status, want)
		}
		// Whoever marked it first knows too.
		if inner := WithWrite(ctx); unclear(inner) != want {
			t.Errorf("marked again, may be done %v after %d", unclear(inner), status)
		}
		// What a client makes of it, such as an answer that is no JSON, doesn't undo the doubt.
		if e := AsError(ctx, errors.New("invalid character '<'")); (e.Code == "outcome_unknown") != want {
			t.Errorf("AsError after %d = %v", status, e)
		}
	}
}

func TestAWriteThatIsGivenUpIsInDoubt(t *testing.T) {
	arrived, open := make(chan struct{}), make(chan struct{})
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-open
	}))
	defer close(open)
	ctx, cancel := context.WithCancel(WithWrite(t.Context()))
	go func() {
		<-arrived
		cancel()
	}()
	_, _, err := ask(ctx, guardOf(t, forge.URL), "POST", forge.URL+commentPath, "{}")
	if codeOf(err) != "outcome_unknown/connection_broken" || !errors.Is(err, context.Canceled) {
		t.Errorf("POST = %v", err)
	}
	// go-github gives the context's error in the place of ours.
	if e := AsError(ctx, ctx.Err()); codeOf(e) != "outcome_unknown/connection_broken" {
		t.Errorf("AsError = %v", e)
	}
}

func TestAReadThatTakesTooLongSaysSo(t *testing.T) {
	open := make(chan struct{})
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/repos/a/slow-body" {
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
		}
		<-open
	}))
	defer close(open)
	g := guardOf(t, forge.URL)
	for _, path := range []string{"/repos/a/silent", "/repos/a/slow-body"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err := ask(ctx, g, "GET", forge.URL+path, "")
		cancel()
		if codeOf(err) != "unavailable/timeout" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("GET %s = %v", path, err)
		}
	}
	if len(g.slots) != 0 {
		t.Errorf("%d places are still taken", len(g.slots))
	}
}

func TestAGraphQLQuestionIsNoWrite(t *testing.T) {
	w := newWire(t, func(w *wire, _ int, conn net.Conn) { w.take(bufio.NewReader(conn)) })
	g := guardOf(t, w.url)
	if _, _, err := ask(t.Context(), g, "POST", w.url+"/graphql", "{}"); codeOf(err) != "unavailable/connection_broken" {
		t.Errorf("a question = %v", err)
	}
	if _, _, err := ask(WithWrite(t.Context()), g, "POST", w.url+"/graphql", "{}"); codeOf(err) != "outcome_unknown/connection_broken" {
		t.Errorf("a mutation = %v", err)
	}
}

func TestErrorsOfAClientAreFoundWithinItsOwn(t *testing.T) {
	inner := refusedRedirect("another host")
	wrapped := fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "http://x", Err: inner})
	if got := AsError(t.Context(), wrapped); got != inner {
		t.Errorf("AsError = %v, want the error itself", got)
	}
	if got := AsError(t.Context(), nil); got != nil {
		t.Errorf("AsError(nil) = %v", got)
	}
	if got := AsError(t.Context(), errors.New("invalid character '<'")); codeOf(got) != "unavailable/bad_answer" {
		t.Errorf("AsError of no JSON = %v", got)
	}
}
