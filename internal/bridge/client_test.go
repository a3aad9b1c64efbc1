package bridge

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fleet/api"
)

func TestAWriteWhoseAnswerIsCutAnywhereIsPostedOnceAndAnswered(t *testing.T) {
	t.Parallel()
	b := openBench(t, "", &fakeForge{})
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	var limit atomic.Int64
	c := newCutter(t, server.Listener.Addr().String(), func(int) int { return int(limit.Swap(-1)) })
	posts := 0
	post := func(cut int) (whole int) {
		t.Helper()
		limit.Store(int64(cut))
		raw, err := clientTo(t, "http://"+c.Addr().String(), b.Local()).Do(t.Context(), comment(fmt.Sprint("done ", posts)))
		posts++
		w := decode[api.Written](t, raw, err)
		if len(b.forge.posted()) != posts || w.ID != int64(posts) || w.DuplicateOf != "" {
			t.Fatalf("cut after %d bytes: %+v, %d posts; want the one post", cut, w, len(b.forge.posted()))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.len
	}
	whole := post(0)
	for cut := 1; cut < whole; cut += 7 {
		post(cut)
	}
	for cut := whole - 3; cut <= whole; cut++ {
		post(cut)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if resent := c.all - posts; resent < posts-2 || whole < 200 {
		t.Errorf("%d of %d writes were sent again, with answers of %d bytes; want all that were cut", resent, posts, whole)
	}
}

func TestAWriteThatIsCutTwiceIsOfUnknownOutcomeAndNeverPostedTwice(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	c := newCutter(t, server.Listener.Addr().String(), func(n int) int {
		if n <= 2 {
			return 0
		}
		return -1
	})
	caller := clientTo(t, "http://"+c.Addr().String(), b.Local())
	r := comment("done")
	_, err := caller.Do(t.Context(), r)
	e := expectError(t, err, "outcome_unknown/bridge_answer_lost")
	if !strings.Contains(e.Hint, "repo_issue_view number 7") {
		t.Errorf("hint %q", e.Hint)
	}
	again := comment("done")
	raw, err := caller.Do(t.Context(), again)
	if w := decode[api.Written](t, raw, err); w.DuplicateOf == "" || len(b.forge.posted()) != 1 {
		t.Errorf("the agent's second try: %+v, %d posts; want a duplicate of the one", w, len(b.forge.posted()))
	}
}

func TestABridgeThatEndsBeforeTheSecondSendingLeavesTheOutcomeOpen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 1<<16)
		_, _ = conn.Read(buffer)
		_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		_, _ = conn.Read(buffer)
		_ = l.Close()
		_ = conn.Close()
	}()
	caller := clientTo(t, "http://"+l.Addr().String(), NewSecret("fleet_ship_x"))
	_, err = caller.Do(t.Context(), comment("done"))
	expectError(t, err, "outcome_unknown/bridge_answer_lost")
	_, err = caller.Do(t.Context(), comment("done"))
	expectError(t, err, "unavailable/bridge_unreachable")
}

func TestARefusalOfTheSecondSendingSaysNothingOfTheFirst(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	ship, _ := b.grantShip(t, "alpha", "widgets", "comment")
	handler := b.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.forge.called("Write") > 0 {
			handler.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if err := b.desk.revoke("alpha"); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	_, err := clientTo(t, server.URL, ship).Do(t.Context(), comment("done"))
	expectError(t, err, "outcome_unknown/bridge_answer_lost")
	if n := len(b.forge.posted()); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
}

// A credential that could not be read just then, and a fault of the bridge's own, were taken for the
// outcome of what was posted.
func TestWhatComesBeforeTheKeySaysNothingOfTheFirstSending(t *testing.T) {
	for name, refusal := range map[string]error{
		"a fault": internal(nil), "a credential that can't be used": unusable("a file", "is empty"), "a body that shows one": heldCredential("a credential"),
		"a limit": &api.Error{Code: api.RateLimited, Reason: "rate_limited", Message: "the forge limits"}, "the end": &api.Error{Code: api.Unavailable, Reason: reasonEnding},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBench(t, "", &fakeForge{})
			handler := b.Handler()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if b.forge.called("Write") > 0 {
					sendProblem(w, refusal.(*api.Error))
					return
				}
				handler.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}))
			defer server.Close()
			_, err := clientTo(t, server.URL, b.Local()).Do(t.Context(), comment("done"))
			expectError(t, err, "outcome_unknown/bridge_answer_lost")
		})
	}
}

func TestWhatIsNoBridgeIsSaidToBeNone(t *testing.T) {
	answers := map[string]struct {
		handler   http.HandlerFunc
		read, add string // codes of a read and of a write, which may have been passed on
	}{
		"a page": {
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
			"unavailable/bridge_answer", "outcome_unknown/bridge_answer_lost",
		},
		"a proxy's error": {
			func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "<h1>Bad Gateway</h1>", http.StatusBadGateway)
			},
			"unavailable/bridge_answer", "outcome_unknown/bridge_answer_lost",
		},
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
			},
			"unavailable/bridge_answer", "outcome_unknown/bridge_answer_lost",
		},
		"half an answer": {
			func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, `{"id":`)
			},
			"unavailable/bridge_answer", "outcome_unknown/bridge_answer_lost",
		},
		"no JSON": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"id":`)
			},
			"unavailable/bridge_answer", "outcome_unknown/bridge_answer_lost",
		},
		"an endless answer": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `"`+strings.Repeat("x", maxClientAnswer)+`"`)
			},
			"unavailable/bridge_answer", "outcome_unknown/bridge_answer_lost",
		},
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			caller := clientTo(t, server.URL, NewSecret("fleet_ship_x"))
			_, err := caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
			expectError(t, err, c.read)
			_, err = caller.Do(t.Context(), comment("done"))
			expectError(t, err, c.add)
		})
	}
}

func TestAShipsCredentialIsReadAnewWhenItChanges(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	ship, _ := b.grantShip(t, "alpha", "widgets", "read", "comment")
	file := filepath.Join(t.TempDir(), "credential")
	put := func(s Secret) {
		if err := os.WriteFile(file, []byte(s.Reveal()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var rotate atomic.Bool
	handler := b.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rotate.CompareAndSwap(true, false) {
			put(ship) // between the read of the file and the answer
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	put(NewSecret("fleet_ship_old"))
	caller, err := NewClient(ClientConfig{URL: server.URL, CredentialFile: file})
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "unauthenticated/ship_credential")
	rotate.Store(true)
	if _, err := caller.Do(t.Context(), comment("done")); err != nil || len(b.forge.posted()) != 1 {
		t.Errorf("rotated during the call: %v, %d posts", err, len(b.forge.posted()))
	}
	put(NewSecret("fleet_ship_old"))
	_, err = caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "unauthenticated/ship_credential")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "unauthenticated/credential_unusable")
}

func TestAShipMayComeByAUnixSocket(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	socket := filepath.Join(b.dir, "api.sock")
	l, err := (&File{Listen: "unix://" + socket}).Listener()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, b.Handler(), b.config.Logger) }()
	caller := clientTo(t, "unix://"+socket, b.Local())
	for _, r := range []Request{{Op: OpInfo, Repo: "widgets"}, comment("done"), comment("more")} {
		if _, err := caller.Do(t.Context(), r); err != nil {
			t.Errorf("%s: %v", r.Op, err)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v after its end was asked for", err)
	}
	_, err = caller.Do(t.Context(), comment("after"))
	expectError(t, err, "unavailable/bridge_unreachable")
}

func TestAClientTakesNoUnsafeAddress(t *testing.T) {
	for _, address := range []string{
		"", "bridge.example", "http://bridge.example", "http://10.0.0.1:4701", "https://", "https://u:p@bridge.example", "https://bridge.example?x=1",
		"unix://relative", "unix://host/path", "ftp://bridge.example", "https://bridge.example#x",
	} {
		if _, err := NewClient(ClientConfig{URL: address, CredentialFile: "/x"}); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("NewClient(%q) = %v, want a refusal", address, err)
		}
	}
	for _, address := range []string{"https://bridge.example", "https://bridge.example:8443/base/", "http://127.0.0.1:4701", "http://[::1]:4701", "http://localhost:1", "unix:///run/x.sock"} {
		if _, err := NewClient(ClientConfig{URL: address, CredentialFile: "/x"}); err != nil {
			t.Errorf("NewClient(%q) = %v", address, err)
		}
	}
	if _, err := NewClient(ClientConfig{URL: "https://bridge.example", CredentialFile: "x"}); err == nil {
		t.Error("a relative credential file was taken")
	}
}
