package bridge

import (
	"context"
	"fmt"
	"strings"
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

// takeContent waits for the turn of i's content, and then for that of its words on its target,
// whoever's they are: what looks alike on the forge is sent and looked for one after the other, so
// that a look knows what belongs to others.
func (b *Broker) takeContent(ctx context.Context, i *intent) (leave func(), err error) {
	leaveContent, err := b.turns.take(ctx, "content "+i.Content)
	if err != nil {
		return nil, err
	}
	leaveWords, err := b.turns.take(ctx, "words "+i.wordsHash())
	if err != nil {
		leaveContent()
		return nil, err
	}
	return func() { leaveWords(); leaveContent() }, nil
}

// wordsHash is the same for whatever a look could take for i. Comments on issues and on pulls are
// one list, and a forge may change blanks and ends of lines.
func (i *intent) wordsHash() string {
	return hashOf(strings.ToLower(i.Path), fmt.Sprint(i.Write.Number), i.Write.Event, strings.Join(strings.Fields(i.Write.Body), " "))
}
