package toolset

import (
	"context"
	"sync"
)

const atOnce = 4

// Limiter bounds to four how many processes run at once for each workspace. The zero Limiter is
// ready, and one serves all toolsets of a ship. It is safe for concurrent use.
type Limiter struct {
	mu   sync.Mutex
	lots map[string]*lot
}

// lot is one workspace's slots. It lives while somebody holds or wants one.
type lot struct {
	slots chan struct{}
	users int
}

// acquire waits for a slot of key until ctx ends. Each acquired slot is given back once.
func (l *Limiter) acquire(ctx context.Context, key string) (release func(), err error) {
	if err := ctx.Err(); err != nil { // select would choose by chance
		return nil, err
	}
	at := l.enter(key)
	select {
	case at.slots <- struct{}{}:
		return func() { <-at.slots; l.leave(key) }, nil
	case <-ctx.Done():
		l.leave(key)
		return nil, ctx.Err()
	}
}

func (l *Limiter) enter(key string) *lot {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lots[key]
	if at == nil {
		if l.lots == nil {
			l.lots = map[string]*lot{}
		}
		at = &lot{slots: make(chan struct{}, atOnce)}
		l.lots[key] = at
	}
	at.users++
	return at
}

func (l *Limiter) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lots[key].users--; l.lots[key].users == 0 {
		delete(l.lots, key)
	}
}
