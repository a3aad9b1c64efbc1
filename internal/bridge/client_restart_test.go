package bridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"fleet/api"
)

// TestARestartOfTheBridgeShowsInNoCall ends a bridge gracefully and starts it anew, again and
// again, while a ship calls it.
func TestARestartOfTheBridgeShowsInNoCall(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": "unix://" + t.TempDir() + "/ships.sock"} {
		t.Run(name, func(t *testing.T) {
			f := &fakeForge{}
			r := newRestarted(t, f, address)
			r.start(t)
			callers := r.call(t, 20)
			for range 5 {
				callers.awaitMore(t, 60)
				r.stop(t)
				r.start(t)
			}
			callers.end()
			texts := map[string]int{}
			for _, w := range f.posted() {
				texts[w.Body]++
			}
			if n := callers.comments; len(texts) != n || len(f.posted()) != n {
				t.Errorf("%d comments asked for, %d posts of %d texts", n, len(f.posted()), len(texts))
			}
			if len(callers.errors) > 0 {
				t.Errorf("of %d calls, these failed: %v", callers.calls, callers.errors)
			}
		})
	}
}

type restarted struct {
	forge  *fakeForge
	dir    string
	listen string
	ship   Secret

	broker *bench
	cancel context.CancelFunc
	served chan error
}

func newRestarted(t *testing.T, f *fakeForge, listen string) *restarted {
	b := openBench(t, "", f)
	ship, _ := b.grantShip(t, "alpha", "widgets", "read", "comment")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return &restarted{forge: f, dir: b.dir, listen: listen, ship: ship}
}

func (r *restarted) start(t *testing.T) {
	t.Helper()
	r.broker = openBench(t, r.dir, r.forge)
	l, err := (&File{Listen: r.listen}).Listener()
	if err != nil {
		t.Fatal(err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		r.listen = tcp.String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.served = cancel, make(chan error, 1)
	go func() { r.served <- Serve(ctx, l, r.broker.Handler(), r.broker.config.Logger) }()
}

func (r *restarted) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	if err := errors.Join(<-r.served, r.broker.Close()); err != nil {
		t.Fatal(err)
	}
}

type callers struct {
	mu              sync.Mutex
	calls, comments int
	errors          map[string]int
	stop            context.CancelFunc
	work            sync.WaitGroup
}

func (r *restarted) call(t *testing.T, n int) *callers {
	address := r.listen
	if !strings.HasPrefix(address, "unix://") {
		address = "http://" + address
	}
	client := clientTo(t, address, r.ship)
	client.(*Client).patience = awayPatience
	ctx, cancel := context.WithCancel(context.Background())
	c := &callers{errors: map[string]int{}, stop: cancel}
	for who := range n {
		c.work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				q := Request{Op: OpIssueList, Repo: "widgets", Workspace: "main"}
				if i%2 == 1 {
					q = comment(fmt.Sprintf("comment %d of caller %d", i, who))
				}
				_, err := client.Do(context.Background(), q)
				c.note(q, err)
				if err != nil {
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	return c
}

func (c *callers) note(q Request, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if q.writes() {
		c.comments++
	}
	if err != nil {
		var e *api.Error
		errors.As(err, &e)
		c.errors[q.Op+": "+string(e.Code)+"/"+e.Reason]++
	}
}

func (c *callers) end() {
	c.stop()
	c.work.Wait()
}

// awaitMore waits for so many further calls.
func (c *callers) awaitMore(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	done := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.calls
	}
	for from := done(); done() < from+n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls in 30 s, want %d", done()-from, n)
		}
	}
}
