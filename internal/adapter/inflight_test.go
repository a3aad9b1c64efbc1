package adapter_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestACancelledRequestIsCutOffAndNeverAnswered, and its cancel is not forwarded.
func TestACancelledRequestIsCutOffAndNeverAnswered(t *testing.T) { // cancel
	t.Parallel()
	for name, id := range map[string]string{"string": `"slow"`, "number": "7", "spelt-anew": "7.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(time.Minute)
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.id == `"alive"` {
					result(w, r, p)
					return
				}
				p.id = `"slow"`
				s.reply(w, r, p)
			})
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(call(id), cancelled(`"7"`), cancelled("99"), cancelled("null"), cancelled("{}"), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
			s.await(t, 1)
			h.alive()
			h.sendLine(cancelled(strings.TrimSuffix(id, ".0")))
			eventually(t, "the far end sees the request cut off", func() bool { return s.cutOff.Load() == 1 })
			h.alive()
			h.end()
			for _, p := range f.posts() {
				if strings.Contains(p.method, "cancelled") {
					t.Error("the cancel was forwarded")
				}
			}
		})
	}
}

// TestACancelReachesACallThatWaitsForTheShip, which is down for good.
func TestACancelReachesACallThatWaitsForTheShip(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	f.restart(t, func() {
		h.sendLine(call("1"), initialize("2"), call("3"), cancelled("1"), cancelled("3"), cancelled("2"), "junk")
		h.fault("null", -32700, "") // so all before it was read
	})
	h.alive()
	h.end()
	if n := len(f.posts()); n != 1 {
		t.Errorf("the far end got %d requests, want only the last", n)
	}
}

func TestTwoRequestsWithOneIdAreBothAnswered(t *testing.T) {
	t.Parallel()
	s := newSlow(time.Minute)
	f := newFar(t, s.reply)
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(call(`"slow"`), call(`"slow"`))
	s.await(t, 2)
	close(s.release)
	h.want(answered(`"slow"`), answered(`"slow"`))
	h.end()
}

// TestASlowCallHoldsNobodyUp: quick calls pass it, and so do a cancel and the end of input,
// with more calls than may be in flight at once.
func TestASlowCallHoldsNobodyUp(t *testing.T) { // concurrency
	t.Parallel()
	s := newSlow(time.Minute)
	f := newFar(t, s.reply)
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(call(`"slow"`))
	s.await(t, 1)
	for range 10 {
		h.alive()
	}
	const more = 100 // above the bound of 64
	for i := range more {
		h.sendLine(call(fmt.Sprintf(`"slow-%d"`, i)))
	}
	s.await(t, 63)
	for i := range more { // from the last, so that none is cancelled while its turn comes
		if i = more - 1 - i; i != 3 {
			h.sendLine(cancelled(fmt.Sprintf(`"slow-%d"`, i)))
		}
	}
	h.alive()
	select {
	case <-s.begun:
		t.Error("more than 64 calls were in flight at once, or a cancelled one was sent")
	default:
	}
	close(s.release)
	got := []string{h.line(), h.line()}
	slices.Sort(got)
	if want := []string{answered(`"slow"`), answered(`"slow-3"`)}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	h.end()
}

// TestCallsBeyondWhatMayWaitAreRefused keeps a harness that never stops from filling the memory.
func TestCallsBeyondWhatMayWaitAreRefused(t *testing.T) {
	t.Parallel()
	s := newSlow(time.Minute)
	f := newFar(t, s.reply)
	h := newWorkspace(t, f.port()).start(t)
	for i := range 1024 {
		h.sendLine(call(fmt.Sprintf(`"slow-%d"`, i)))
	}
	h.sendLine(call("1"))
	h.fault("1", -32603, "too many")
	close(s.release)
	for range 1024 {
		h.line()
	}
	h.alive()
	h.end()
}

// TestLinesBehindAnInitializeWaitForItsAnswer: they need its version. A cancel passes.
func TestLinesBehindAnInitializeWaitForItsAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method == "initialize" {
			<-release
		}
		result(w, r, p)
	})
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(initialize("1"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, call("2"), call("3"), cancelled("3"))
	eventually(t, "initialize arrives", func() bool { return len(f.posts()) == 1 })
	time.Sleep(30 * time.Millisecond) // the others would go out now
	if n := len(f.posts()); n != 1 {
		t.Errorf("%d requests went out before initialize was answered", n)
	}
	close(release)
	if got := h.line(); !strings.Contains(got, `"id":1,`) {
		t.Errorf("the first answer is %s", got)
	}
	h.want(answered("2"))
	h.alive()
	h.end()
	for _, p := range f.posts()[1:] {
		if got := p.header.Get("Mcp-Protocol-Version"); got != "2025-06-18" || p.id == "3" {
			t.Errorf("%s went out with the version %q", p.body, got)
		}
	}
}

func TestTheEndOfInputPassesAnInitialize(t *testing.T) {
	t.Parallel()
	f := newFar(t, func(_ http.ResponseWriter, r *http.Request, _ posted) { <-r.Context().Done() })
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(initialize("1"), call("2"))
	h.in.Close()
	ids := []string{}
	for range 2 {
		line := h.line()
		ids = append(ids, strings.SplitN(line, ",", 3)[1])
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{`"id":1`, `"id":2`}) {
		t.Errorf("the errors are for %q", ids)
	}
	h.end()
}

// TestANotificationDoesNotOvertakeTheRequestBeforeIt: the request is so long that its end can
// only be sent once the far end reads it, and that takes its time.
func TestANotificationDoesNotOvertakeTheRequestBeforeIt(t *testing.T) {
	t.Parallel()
	var reading atomic.Bool
	early := make(chan bool, 1)
	f := newFar(t, nil)
	f.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 1<<20 {
			early <- !reading.Load()
		} else {
			time.Sleep(100 * time.Millisecond) // time enough for the notification to come too early
			reading.Store(true)
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, answered("1"))
		}
	})
	h := newWorkspace(t, f.port()).startPlain(t)
	h.sendLine(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"t":"`+strings.Repeat("x", 12<<20)+`"}}`,
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	h.want(answered("1"))
	if <-early {
		t.Error("the notification came while the request before it was still to be sent")
	}
	h.end()
}

// TestManyLongAnswersStayWhole has a harness that reads slowly and calls in great number.
func TestManyLongAnswersStayWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 200<<10)
	f := newFar(t, func(w http.ResponseWriter, _ *http.Request, p posted) {
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+p.id+`,"result":"`+text+`"}`)
	})
	h := newWorkspace(t, f.port()).startPlain(t)
	seen := map[string]bool{}
	for i := range 32 {
		h.sendLine(call(fmt.Sprint(i)))
	}
	for range 32 {
		seen[h.line()] = true
	}
	for i := range 32 {
		if !seen[`{"jsonrpc":"2.0","id":`+fmt.Sprint(i)+`,"result":"`+text+`"}`] {
			t.Errorf("the answer to %d is missing or torn", i)
		}
	}
	h.end()
}

// TestAStreamIsHandedOnEventByEvent: progress before the answer exists, and a stream that the
// server leaves open costs neither the answer nor the next call.
func TestAStreamIsHandedOnEventByEvent(t *testing.T) { // sse-progress, sse-stays-open
	t.Parallel()
	step, cut := make(chan struct{}), make(chan struct{})
	f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.id != "1" {
			result(w, r, p)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range []string{progress, progress, answered("1")} {
			io.WriteString(w, "data: "+line+"\n\n")
			w.(http.Flusher).Flush()
			<-step
		}
		<-r.Context().Done()
		close(cut)
	})
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(call("1"))
	for _, line := range []string{progress, progress, answered("1")} {
		h.want(line)
		step <- struct{}{}
	}
	h.alive()
	select {
	case <-cut:
	case <-time.After(patience):
		t.Error("the stream was left open after its answer")
	}
	h.end()
}

// TestTheServersOwnRequestsAreRelayed: a request inside a stream goes out, and the harness's
// response is posted at once, although it answers a call that is still in flight.
func TestTheServersOwnRequestsAreRelayed(t *testing.T) { // server-request
	t.Parallel()
	const asks = `{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}`
	const says = `{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant"}}`
	got := make(chan string, 1)
	f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method == "" {
			got <- p.body
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: "+asks+"\n\n")
		w.(http.Flusher).Flush()
		select {
		case body := <-got:
			io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+p.id+`,"result":`+body+"}\n\n")
		case <-r.Context().Done():
		}
	})
	h := newWorkspace(t, f.port()).start(t)
	for _, line := range []string{call("1"), initialize("1")} { // responses pass what is held behind an initialize
		h.sendLine(line)
		h.want(asks)
		h.sendLine(says)
		h.want(`{"jsonrpc":"2.0","id":1,"result":` + says + `}`)
	}
	h.end()
}
