//go:build e2e

package longlife

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// By what factor a crowd may slow the calls of others, half of them and one in a hundred. Alone,
// half of the calls take less than a millisecond, of which a busy machine makes many.
const (
	mostSlower        = 3
	mostSlowerAtWorst = 12
)

// crowd is many clients at once. It keeps what they opened until it is over.
type crowd struct {
	address string
	ctx     context.Context
	work    sync.WaitGroup
	failed  atomic.Int64
}

// gather has n clients do what they do, and gives the function that ends them and waits for it.
func gather(address string, n int, do func(c *crowd, i int)) (disperse func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd{address: address, ctx: ctx}
	for i := range n {
		c.work.Go(func() { do(c, i) })
	}
	return func() { cancel(); c.work.Wait() }
}

// dial connects; the connection is closed when the crowd disperses.
func (c *crowd) dial() (net.Conn, bool) {
	var d net.Dialer
	conn, err := d.DialContext(c.ctx, "tcp", c.address)
	if err != nil {
		c.failed.Add(1)
		return nil, false
	}
	context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	return conn, true
}

// trickle writes text again and again, a byte a second, until the ship or the crowd has enough.
func (c *crowd) trickle(conn net.Conn, text string) {
	// Not all in the same moment.
	tick := time.NewTicker(time.Second + time.Duration(rand.IntN(200))*time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
	}
}

// TestSlowAndSilentClientsDelayNobody has 500 idle connections, and 240 that are slow in three ways,
// beside an agent at work.
func TestSlowAndSilentClientsDelayNobody(t *testing.T) {
	f := serving(t, 2)
	h := f.harness(t, workspace(0))
	h.register(t)
	token := f.token(t, workspace(1))
	address := fmt.Sprintf("127.0.0.1:%d", f.port(t))
	head := "POST /workspaces/r/w1/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	slow := func(c *crowd, i int) {
		conn, ok := c.dial()
		if !ok {
			return
		}
		switch i % 31 {
		case 0, 1, 2, 3: // a head, a byte a second
			c.trickle(conn, head)
		case 4, 5, 6, 7: // a head that is never finished
			_, _ = io.WriteString(conn, head)
		case 8, 9: // a body, a byte a second, with a sibling's good token
			_, _ = io.WriteString(conn, head+"Authorization: Bearer "+token+"\r\nContent-Length: 1000\r\n\r\n")
			c.trickle(conn, " ")
		}
		<-c.ctx.Done()
	}
	p50, p99 := ratios(t, h, 5, 500, func() func() {
		stop := gather(address, 740, slow)
		settled(t, f, 500)
		return stop
	})
	t.Logf("beside 740 slow and silent clients p50 is %.2f times and p99 %.2f times what it is alone", p50, p99)
	if p50 > mostSlower || p99 > mostSlowerAtWorst {
		t.Errorf("slow clients slow an agent down: p50 by %.2f, p99 by %.2f", p50, p99)
	}
	f.ship.Stop(t)
}

// settled waits until the ship has at least n files open.
func settled(t *testing.T, f *fleet, n float64) {
	t.Helper()
	if !shipyard.Poll(func() bool { return take(t, f.ship.PID())["files"] > n }) {
		t.Fatalf("the ship has %v files open, want %v", take(t, f.ship.PID())["files"], n)
	}
}

// TestTenThousandConnectionsThatOnlySayHelloLeaveNothingBehind, while an agent goes on.
func TestTenThousandConnectionsThatOnlySayHelloLeaveNothingBehind(t *testing.T) {
	f := servingBy(t, "counting", 1)
	h := f.harness(t, workspace(0))
	h.register(t)
	before := f.warm(t, h)
	f.hello(t, h, 10_000)
	for what, more := range map[string]float64{"files": 3, "goroutines": 3} {
		if !shipyard.Poll(func() bool { return f.sample(t)[what] <= before[what]+more }) {
			t.Errorf("the ship has %v %s, had %v", f.sample(t)[what], what, before[what])
		}
	}
	after := f.sample(t)
	t.Logf("before %v, after %v", before, after)
	if after["resident KiB"] > before["resident KiB"]*1.5 || after["threads"] > before["threads"]+8 {
		t.Errorf("the ship uses %v, used %v before", after, before)
	}
}

// warm has clients say hello until that takes no more threads, of which none ever ends, and gives
// what the ship uses then. Its heap has grown to what it needs by then, too.
func (f *fleet) warm(t *testing.T, h *harness) (now sample) {
	t.Helper()
	for rounds, same := 0, 0; rounds < 20 && same < 3; rounds++ {
		threads := now["threads"]
		f.hello(t, h, 1000)
		if now = f.sample(t); now["threads"] > threads {
			same = 0
		} else {
			same++
		}
	}
	return now
}

// hello makes that many connections, 16 at a time, beside calls of h. Each has to be served.
func (f *fleet) hello(t *testing.T, h *harness, total int) {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", f.port(t))
	var next, failed atomic.Int64
	stop := gather(address, 16, func(c *crowd, _ int) {
		for next.Add(1) <= int64(total) {
			if err := sayHello(address, int(next.Load())); err != nil {
				failed.Add(1)
			}
		}
	})
	for range 100 {
		h.good(t, "agent_status_get", "{}")
	}
	shipyard.Poll(func() bool { return next.Load() > int64(total) })
	stop()
	if failed.Load() > 0 {
		t.Errorf("%d of %d connections were not served", failed.Load(), total)
	}
}

// sayHello connects and hangs up, or asks for /healthz first.
func sayHello(address string, i int) error {
	conn, err := net.DialTimeout("tcp", address, shipyard.Patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	if i%2 == 0 {
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(shipyard.Patience))
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		err = fmt.Errorf("GET /healthz = %q", answer)
	}
	return err
}

// TestAFloodFromOneWorkspaceDoesNotSlowItsSibling floods with as many connections as a workspace
// may use, and with many more.
func TestAFloodFromOneWorkspaceDoesNotSlowItsSibling(t *testing.T) {
	f := serving(t, 2)
	h := f.harness(t, workspace(0))
	h.register(t)
	url, token := f.mcpURL(t, workspace(1)), f.token(t, workspace(1))
	for _, connections := range []int{64, 400} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			var answered, refused, broken atomic.Int64
			began := time.Now()
			p50, p99 := ratios(t, h, 5, 500, func() func() {
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}, Timeout: shipyard.Patience}
				stop := gather("", connections, func(c *crowd, _ int) {
					for c.ctx.Err() == nil {
						switch status := flood(c.ctx, client, url, token); {
						case status == http.StatusOK:
							answered.Add(1)
						case status == http.StatusTooManyRequests:
							refused.Add(1)
						case c.ctx.Err() == nil:
							broken.Add(1)
						}
					}
				})
				return func() { stop(); client.CloseIdleConnections() }
			})
			t.Logf("beside a flood by %d connections p50 is %.2f times and p99 %.2f times what it is alone; of the flood %d were answered, %d refused and %d broken off in %v",
				connections, p50, p99, answered.Load(), refused.Load(), broken.Load(), time.Since(began))
			if p50 > mostSlower || p99 > mostSlowerAtWorst {
				t.Errorf("a flood slows a sibling down: p50 by %.2f, p99 by %.2f", p50, p99)
			}
			if broken.Load() > 0 || answered.Load() == 0 || connections > 128 && refused.Load() == 0 {
				t.Errorf("of the flood %d were answered, %d refused and %d broken off", answered.Load(), refused.Load(), broken.Load())
			}
		})
	}
}

// flood makes one call and gives the status of its answer, or 0.
func flood(ctx context.Context, client *http.Client, url, token string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_status_get","arguments":{}}}`))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}
