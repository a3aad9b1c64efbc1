package bridge

import (
	"context"
	"sync"
)

// turns lets one at a time do what has the same name. The zero turns is ready.
type turns struct {
	mu    sync.Mutex
	taken map[string]*turn
}

type turn struct {
	free  chan struct{} // holds one value while nobody has the turn
	users int
}

// take waits for the turn; leave gives it on.
func (t *turns) take(ctx context.Context, name string) (leave func(), err error) {
	t.mu.Lock()
	if t.taken == nil {
		t.taken = map[string]*turn{}
	}
	one := t.taken[name]
	if one == nil {
		one = &turn{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		t.taken[name] = one
	}
	one.users++
	t.mu.Unlock()
	done := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.taken, name)
		}
	}
	select {
	case <-one.free:
		return func() { one.free <- struct{}{}; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}
