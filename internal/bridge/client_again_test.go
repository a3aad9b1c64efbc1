package bridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

// A reset that met a write before the bridge had read it was of unknown outcome.
func TestAWriteThatTheBridgeNeverReadIsNotDone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = l.Close()
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_ = conn.SetReadDeadline(time.Now().Add(continueTime / 4))
		got, _ := io.ReadAll(req.Body)
		text <- string(got)
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}()
	_, err = clientTo(t, "http://"+l.Addr().String(), NewSecret("fleet_ship_x")).Do(t.Context(), comment("done"))
	if e := expectError(t, err, "unavailable/bridge_unreachable"); !strings.Contains(e.Message, "nothing was done") {
		t.Errorf("message %q", e.Message)
	}
	if got := <-text; got != "" {
		t.Errorf("%q left the ship unasked", got)
	}
}

// A proxy may keep the bridge's 100 Continue to itself.
func TestAWriteWhoseTextNobodyAsksForIsSentAllTheSame(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := clientTo(t, "http://127.0.0.1:1", b.Local()).(*Client)
		c.http.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return near, nil }
		text := make(chan string, 1)
		go func() {
			defer far.Close()
			req, err := http.ReadRequest(bufio.NewReader(far))
			if err != nil {
				text <- err.Error()
				return
			}
			got, _ := io.ReadAll(req.Body)
			text <- string(got)
			_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "+jsonType+"\r\nContent-Length: 2\r\n\r\n{}")
		}()
		if _, err := c.Do(t.Context(), comment("done")); err != nil {
			t.Error(err)
		}
		if got := <-text; !strings.Contains(got, `"body":"done"`) {
			t.Errorf("what came was %q", got)
		}
	})
}

func TestACallWhoseConnectionsBreakIsAskedAgainAFewTimes(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	for name, r := range map[string]Request{"a read": {Op: OpInfo, Repo: "widgets"}, "a write": comment("done")} {
		t.Run(name, func(t *testing.T) {
			var cuts, calls atomic.Int32
			handler := b.Handler()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) <= cuts.Load() {
					if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
						_ = conn.Close() // before the text is asked for
					}
					return
				}
				handler.ServeHTTP(w, r)
			}))
			defer server.Close()
			cuts.Store(mostCuts)
			if _, err := clientTo(t, server.URL, b.Local()).Do(t.Context(), r); err != nil || calls.Load() != mostCuts+1 {
				t.Errorf("after %d connections that broke: %v, want an answer", calls.Load()-1, err)
			}
			calls.Store(0)
			cuts.Store(1000)
			_, err := clientTo(t, server.URL, b.Local()).Do(t.Context(), r)
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.Unavailable || calls.Load() != mostCuts+1 {
				t.Errorf("%d connections broke: %v, want unavailable after %d", calls.Load(), err, mostCuts+1)
			}
		})
	}
	if n := len(b.forge.posted()); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
}

// net/http sent a write again by itself where a kept connection broke, met no bridge any more, and
// told of that alone: nothing was done, it said, of a comment that was posted.
func TestAWriteThatIsLostOnAKeptConnectionIsNotCalledUndone(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	handler := b.Handler()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			handler.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
		_ = server.Listener.Close()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	caller := clientTo(t, server.URL, b.Local())
	if _, err := caller.Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"}); err != nil {
		t.Fatal(err)
	}
	_, err := caller.Do(t.Context(), comment("done"))
	expectError(t, err, "outcome_unknown/bridge_answer_lost")
	if n := len(b.forge.posted()); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
}

func TestABridgeThatStaysAwayHoldsUpTheFirstCallAlone(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	synctest.Test(t, func(t *testing.T) {
		c := clientTo(t, "http://127.0.0.1:1", b.Local()).(*Client)
		c.patience = awayPatience
		var there atomic.Bool
		c.http = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			if !there.Load() {
				return nil, undialedError{syscall.ECONNREFUSED}
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {jsonType}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		})}
		read := Request{Op: OpInfo, Repo: "widgets"}
		expectWait := func(what string, r Request, atLeast, atMost time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := c.Do(t.Context(), r)
			expectError(t, err, "unavailable/bridge_unreachable")
			if took := time.Since(began); took < atLeast || took > atMost {
				t.Errorf("%s waited %v, want %v to %v", what, took, atLeast, atMost)
			}
		}
		expectWait("the first call", read, awayPatience, awayPatience+lastPause)
		expectWait("the next one", comment("done"), 0, 0)
		time.Sleep(awayMemory - time.Second)
		expectWait("one within the minute", read, 0, 0)
		time.Sleep(awayMemory + time.Second)
		expectWait("one after a quiet minute", comment("done"), awayPatience, awayPatience+lastPause)
		there.Store(true)
		if _, err := c.Do(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		there.Store(false)
		time.AfterFunc(awayPatience/2, func() { there.Store(true) })
		if _, err := c.Do(t.Context(), read); err != nil {
			t.Errorf("a bridge that was away for %v: %v", awayPatience/2, err)
		}
		there.Store(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := c.Do(ctx, read); err == nil || time.Since(began) > time.Second {
			t.Errorf("a read that was called off after a second ended after %v with %v", time.Since(began), err)
		}
	})
}

func TestABridgeThatIsAboutToEndIsWaitedForAsLongAsOneThatIsAway(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	synctest.Test(t, func(t *testing.T) {
		c := clientTo(t, "http://127.0.0.1:1", b.Local()).(*Client)
		c.patience = awayPatience
		ending := (&api.Error{Code: api.Unavailable, Reason: reasonEnding}).Problem()
		text, err := encode(ending)
		if err != nil {
			t.Fatal(err)
		}
		c.http = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: ending.Status, Header: http.Header{"Content-Type": {api.ProblemType}}, Body: io.NopCloser(bytes.NewReader(text))}, nil
		})}
		for i, atMost := range []time.Duration{awayPatience + lastPause, 0} {
			began := time.Now()
			_, err := c.Do(t.Context(), comment("done"))
			expectError(t, err, "unavailable/"+reasonEnding)
			if took := time.Since(began); took > atMost {
				t.Errorf("call %d waited %v, want %v at most", i+1, took, atMost)
			}
		}
	})
}

// The end of a bridge took five seconds and more where a ship had opened a connection for later.
func TestAConnectionThatWasNeverUsedDoesNotHoldUpTheEnd(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, l, b.Handler(), b.config.Logger) }()
		client := l.dial()
		defer client.Close()
		synctest.Wait()
		began := time.Now()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the end took %v", took)
		}
	})
}
