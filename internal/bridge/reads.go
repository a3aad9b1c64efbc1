package bridge

import (
	"container/list"
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"fleet/api"
)

const (
	maxEntries    = 2048
	maxCacheBytes = 32 << 20
	maxStale      = 5 * time.Minute
	// retryLeast is how long a forge that limits our rate is let alone, though it names no time.
	retryLeast = 10 * time.Second
)

// readKey names what a read is of. Two requests with the same key get the same answer: what a
// credential may see is part of it, and what agents may, and nothing of the ship or workspace.
type readKey struct {
	credential string
	repo       string // forge, API address and path
	op         string
	number     int    // of an issue or pull request
	rest       string // state, commit, target and cursor
	policy     string // see Policy.readKey
}

// entry is an answer, in the cache as a rule. Its value is never changed.
type entry struct {
	key     readKey
	kept    bool // in the cache
	shown   map[view]*rendered
	value   any
	bytes   int
	at      time.Time
	ttl     time.Duration
	retryAt time.Time // the forge limits our rate: it isn't asked before
}

// flight is a question under way, which everyone who asks it meanwhile waits for.
type flight struct {
	done  chan struct{}
	entry *entry
	age   *api.Age
	err   error
}

// reads shares what was read: one question at a time for each key, and answers for as long as they
// are fresh. It is safe for concurrent use, and bounded in entries and bytes.
type reads struct {
	broker *Broker
	life   context.Context
	stop   context.CancelFunc

	mu      sync.Mutex
	flights map[readKey]*flight
	entries map[readKey]*list.Element // of *entry
	recent  *list.List                // most recently used first
	bytes   int
	limits  [2]int         // of entries and bytes
	writes  map[string]int // writes to a repository so far
}

func newReads(b *Broker) *reads {
	r := &reads{
		broker: b, flights: map[readKey]*flight{}, entries: map[readKey]*list.Element{},
		recent: list.New(), limits: [2]int{maxEntries, maxCacheBytes}, writes: map[string]int{},
	}
	r.life, r.stop = context.WithCancel(b.life)
	return r
}

// question is how to find an answer that isn't in the cache, and how long it is fresh.
type question struct {
	ask func(ctx context.Context) (any, error)
	ttl func(value any) time.Duration
}

// get answers from the cache, or asks the forge. age is set where the answer is older than it
// should be. The question goes on though ctx ends: others may wait for it.
func (r *reads) get(ctx context.Context, key readKey, q question) (*entry, *api.Age, error) {
	r.mu.Lock()
	if e, age := r.cached(key, time.Now()); e != nil {
		r.mu.Unlock()
		return e, age, nil
	}
	f := r.flights[key]
	if f == nil {
		if !r.broker.begin() {
			r.mu.Unlock()
			return nil, nil, ending()
		}
		f = &flight{done: make(chan struct{})}
		r.flights[key] = f
		go r.fly(context.WithoutCancel(ctx), key, q, f, r.writes[key.repo])
	}
	r.mu.Unlock()
	select {
	case <-f.done:
		return f.entry, f.age, f.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// cached gives a fresh answer, or the last one while the forge isn't to be asked.
func (r *reads) cached(key readKey, now time.Time) (*entry, *api.Age) {
	element := r.entries[key]
	if element == nil {
		return nil, nil
	}
	e := element.Value.(*entry)
	switch age := now.Sub(e.at); {
	case age < e.ttl:
		r.recent.MoveToFront(element)
		return e, nil
	case now.Before(e.retryAt) && age <= maxStale:
		r.recent.MoveToFront(element)
		return e, e.stale(now)
	}
	return nil, nil
}

func (e *entry) stale(now time.Time) *api.Age {
	a := &api.Age{Seconds: int(now.Sub(e.at) / time.Second)}
	if wait := e.retryAt.Sub(now); wait > 0 {
		a.RetryAfterSeconds = int((wait + time.Second - 1) / time.Second)
	}
	return a
}

// fly asks the forge, and stores the answer unless a write made it doubtful meanwhile.
func (r *reads) fly(ctx context.Context, key readKey, q question, f *flight, writes int) {
	defer r.broker.work.Done()
	ctx, cancel := context.WithTimeout(ctx, forgeTime)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	fresh := &entry{key: key}
	value, err := guarded(r.broker, key.op, func() (any, error) { return q.ask(ctx) })
	if err == nil {
		cleanAll(reflect.ValueOf(value))
		raw, _ := encode(value) // what cannot be encoded cannot be shown, and says so there
		fresh.value, fresh.bytes, fresh.ttl = value, len(raw), q.ttl(value)
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(f.done)
	if r.flights[key] == f {
		delete(r.flights, key)
	}
	if err != nil {
		f.entry, f.age, f.err = r.fallBack(key, err, now)
		return
	}
	f.entry, fresh.at = fresh, now
	if r.writes[key.repo] == writes {
		r.store(fresh)
	}
}

// fallBack serves the last answer where the forge limits our rate, with its age.
func (r *reads) fallBack(key readKey, err error, now time.Time) (*entry, *api.Age, error) {
	var e *api.Error
	element := r.entries[key]
	if !errors.As(err, &e) || e.Code != api.RateLimited || element == nil {
		return nil, nil, err
	}
	last := element.Value.(*entry)
	if now.Sub(last.at) > maxStale {
		return nil, nil, err
	}
	last.retryAt = now.Add(max(time.Duration(e.RetryAfterSeconds)*time.Second, retryLeast))
	return last, last.stale(now), nil
}

func (r *reads) store(e *entry) {
	r.drop(r.entries[e.key])
	r.entries[e.key] = r.recent.PushFront(e)
	e.kept = true
	r.charge(e.bytes)
}

// charge counts so many bytes more, and makes room for them.
func (r *reads) charge(bytes int) {
	r.bytes += bytes
	for r.recent.Len() > r.limits[0] || r.bytes > r.limits[1] {
		r.drop(r.recent.Back())
	}
}

func (r *reads) drop(element *list.Element) {
	if element == nil {
		return
	}
	e := r.recent.Remove(element).(*entry)
	e.kept, e.shown = false, nil
	delete(r.entries, e.key)
	r.bytes -= e.bytes
}

// shown gives what was rendered of e before, or nil.
func (r *reads) shown(e *entry, v view) *rendered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return e.shown[v]
}

// keepShown keeps what was rendered of e, for as long as e is in the cache.
func (r *reads) keepShown(e *entry, v view, shown *rendered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.kept || e.shown[v] != nil {
		return
	}
	if e.shown == nil {
		e.shown = map[view]*rendered{}
	}
	e.shown[v] = shown
	e.bytes += len(shown.raw)
	r.charge(len(shown.raw))
}

// forget drops what a write to an issue or pull request changes: its views and the repository's
// lists. Questions under way may have been answered before the write: nobody joins them any more.
func (r *reads) forget(repo string, number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes[repo]++
	changed := func(k readKey) bool {
		list := k.op == OpIssueList || k.op == OpPRList
		return k.repo == repo && (list || k.number == number)
	}
	for key, element := range r.entries {
		if changed(key) {
			r.drop(element)
		}
	}
	for key := range r.flights {
		if changed(key) {
			delete(r.flights, key)
		}
	}
}
