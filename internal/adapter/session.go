package adapter

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The methods that the transport itself must know.
const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodCancelled  = "notifications/cancelled"
)

// batchVersion is the one revision that has JSON-RPC batches.
const batchVersion = "2025-03-26"

// What may wait at once. A request beyond that is refused, a notification dropped.
const (
	maxInFlight = 64
	maxHeld     = 1024
	maxHeldSize = 128 << 20
)

// session is one harness's conversation, from the first line to the end of input.
type session struct {
	config    Config
	out       *output
	log       *log
	link      *link    // nil outside every workspace
	outside   *outside // answers in the link's place
	transport *http.Transport
	pool      *pool
	root      context.Context
	end       context.CancelCauseFunc

	accept, contentType, userAgent []string
	checking                       bool // every request is one of Check's

	version atomic.Pointer[string] // what initialize negotiated

	mu      sync.Mutex
	live    map[*call]struct{} // read, and neither answered nor cancelled for good
	size    int                // of their lines
	opened  chan struct{}      // the last initialize's; see call.opened
	openBy  time.Time          // end of the openings' patience; zero once the ship has answered
	ending  bool               // no more lines come
	settled bool               // idle is closed
	idle    chan struct{}      // closed when ending and nothing is live
}

func newSession(c Config) *session {
	s := &session{
		config: c, out: newOutput(c.Out), log: &log{w: c.Err},
		transport: newTransport(maxInFlight), live: map[*call]struct{}{}, idle: make(chan struct{}),
		accept:      []string{"application/json, text/event-stream"},
		contentType: []string{"application/json"},
		userAgent:   []string{"agent-mcp/" + c.Version},
	}
	s.pool = newPool(maxInFlight, s.serve)
	s.root, s.end = context.WithCancelCause(context.Background())
	return s
}

// negotiated is the version of the last initialize's answer, "" before it.
func (s *session) negotiated() string {
	if v := s.version.Load(); v != nil {
		return *v
	}
	return ""
}

// dispatch starts a call. A notification goes out after the lines before it, each of which is
// by then with the ship; a response at once, since the server waits for it inside a call.
func (s *session) dispatch(c *call, kind kind) {
	s.mu.Lock()
	if len(s.live) >= maxHeld || s.size+len(c.line) > maxHeldSize {
		s.mu.Unlock()
		s.overrun(c)
		return
	}
	var before []<-chan struct{}
	if kind == notification {
		for other := range s.live {
			before = append(before, other.sent)
		}
	}
	if kind != response {
		c.opened = s.opened
	}
	if c.message.method == methodInitialize && kind == request {
		c.opens = make(chan struct{})
		s.opened = c.opens
	}
	c.begin(s.root)
	s.live[c] = struct{}{}
	s.size += len(c.line)
	s.mu.Unlock()
	if kind == request {
		s.pool.submit(c)
		return
	}
	go func() {
		for _, sent := range before {
			select {
			case <-sent:
			case <-c.ctx.Done():
			}
		}
		s.serve(c)
	}()
}

func (s *session) overrun(c *call) {
	const text = "too many calls are waiting; nothing was done. Wait for some answers, then call again"
	s.log.say(text)
	for _, a := range c.asked {
		s.out.write((&failure{message: text}).line(a.id))
	}
}

// serve brings a call to its end: every request in it is answered or cancelled after that.
func (s *session) serve(c *call) {
	defer s.finish(c)
	err := s.held(c)
	if err == nil {
		err = s.guarded(c)
	}
	if len(c.asked) == 0 && err != nil && c.ctx.Err() == nil {
		s.log.say("a notification or a response was lost: " + err.Error())
	}
	for _, a := range c.asked {
		s.out.answer(a, func() []byte { return asFailure(err).line(a.id) })
	}
}

// held waits for the answer to the initialize before the line, whose version the line needs.
func (s *session) held(c *call) error {
	if c.opened == nil {
		return nil
	}
	select {
	case <-c.opened:
		return nil
	case <-c.ctx.Done():
		return &failure{message: "nothing was done: " + context.Cause(c.ctx).Error()}
	}
}

// guarded turns a panic into the error of the one call that it hit.
func (s *session) guarded(c *call) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the adapter has a fault; the call may have been done: look before you repeat it")
		}
	}()
	return s.exchange(c)
}

func asFailure(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case err != nil:
		return &failure{message: err.Error(), cause: err}
	}
	return &failure{message: "the ship gave no answer to this request"}
}

func (s *session) finish(c *call) {
	c.markSent()
	c.cancel(nil)
	if c.opens != nil {
		close(c.opens)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, c)
	s.size -= len(c.line)
	s.settle()
}

// drain says that no more lines come. The channel is closed once every call has ended.
func (s *session) drain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	s.settle()
	return s.idle
}

func (s *session) settle() {
	if s.ending && len(s.live) == 0 && !s.settled {
		s.settled = true
		close(s.idle)
	}
}
