package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleet/internal/atlas"
)

// asks has alpha ask n times at once, each answered at once, and gives how long the last one
// waits, or -1 where it gets no turn.
func (l *limits) asks(n int, now time.Time) (last time.Duration) {
	for range n {
		s, wait, ok := l.enter(alpha, now)
		if last = wait; !ok {
			return -1
		}
		l.leave(s)
	}
	return last
}

func TestAWorkspaceByItselfNeverWaits(t *testing.T) {
	l, now := &limits{}, time.Now()
	if wait := l.asks(100*requestsPerSecond, now); wait != 0 {
		t.Errorf("the last of many requests waits %v, want none", wait)
	}
}

func TestBesideOthersAWorkspaceWaitsForItsTurn(t *testing.T) {
	l, now := &limits{}, time.Now()
	other := func() {
		s, wait, ok := l.enter(beta, now)
		if !ok || wait != 0 {
			t.Fatalf("the sibling waits %v, %v", wait, ok)
		}
		l.leave(s)
	}
	other()
	// What was saved up costs nothing, nor does whoever keeps to the rate.
	const saved = 64 // what an adapter has in flight
	if wait := l.asks(saved, now); wait != 0 {
		t.Errorf("of what an adapter sends at once the last request waits %v, want none", wait)
	}
	if wait := l.asks(saved, now); wait < 100*time.Millisecond {
		t.Errorf("of as many again at once the last waits %v, so that a wave goes through", wait)
	}
	now = now.Add(saved * time.Second / requestsPerSecond)
	for i := range 3 * requestsPerSecond {
		now = now.Add(time.Second / requestsPerSecond)
		if wait := l.asks(1, now); wait > 2*time.Second/requestsPerSecond {
			t.Fatalf("at the rate, request %d waits %v", i, wait)
		}
	}
	if wait := l.asks(requestsPerSecond/2, now); wait < 400*time.Millisecond || wait > 600*time.Millisecond {
		t.Errorf("half a second's worth too early, a request waits %v", wait)
	}
	if wait := l.asks(requestsPerSecond, now); wait != -1 {
		t.Errorf("a request far beyond its turn waits %v, want a refusal", wait)
	}
	other()
	now = now.Add(companyTime + time.Second)
	if wait := l.asks(100*requestsPerSecond, now); wait != 0 {
		t.Errorf("long after the others' last request, a request waits %v", wait)
	}
}

// Without a limit one workspace could take every connection, file and processor of the ship.
func TestAWorkspaceWithTooManyRequestsInFlightIsToldSo(t *testing.T) {
	t.Parallel()
	h := newHeld()
	p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(false)} })
	p.server.toolTimeout = time.Minute
	at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
	answers := make(chan string, maxInFlight)
	for range maxInFlight {
		go func() {
			body, err := at.send(context.Background(), callWait)
			answers <- fmt.Sprint(body, err)
		}()
	}
	h.awaitCalls(t, maxInFlight)
	g := p.post(alpha, statusGet)
	if g.status != http.StatusTooManyRequests || g.header.Get("Retry-After") != "1" || g.header.Get("Content-Type") != "application/json" ||
		!strings.Contains(g.body, `"jsonrpc":"2.0"`) || !strings.Contains(g.body, "rate_limited") {
		t.Errorf("beyond its share a request got %d %v %s, want 429 as JSON-RPC with Retry-After", g.status, g.header, g.body)
	}
	if g := p.post(beta, statusGet); g.status != http.StatusOK {
		t.Errorf("the sibling got %d %s", g.status, g.body)
	}
	for range maxInFlight {
		h.release(t)
	}
	for range maxInFlight {
		if got := <-answers; !strings.Contains(got, "done") {
			t.Errorf("a call within the share got %s", got)
		}
	}
	if g := p.post(alpha, statusGet); g.status != http.StatusOK {
		t.Errorf("after the answers a request got %d %s", g.status, g.body)
	}
}

func TestWhatIsRefusedForTooManyRequestsDoesNotKeepItsConnection(t *testing.T) {
	t.Parallel()
	p := crowded(t, 4)
	p.server.limits.shares = map[atlas.ID]*share{alpha: {inFlight: maxInFlight}}
	for range 4 {
		if _, err := io.WriteString(p.dial(), p.head(fmt.Sprintf("Content-Length: %d\r\n", len(statusGet)))+statusGet); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if g := p.post(beta, statusGet); g.status != http.StatusOK {
			t.Fatalf("the sibling got %d %s", g.status, g.body)
		}
		p.client.CloseIdleConnections()
	}
}
