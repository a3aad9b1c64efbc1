package adapter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// Why a call's context ended.
var (
	errCancelled = errors.New("the harness cancelled the request")
	errTimeout   = errors.New("no answer in time")
	errEnding    = errors.New("the adapter is ending")
)

// asked is one request that a line holds. Whoever claims it writes its one answer.
type asked struct {
	id      []byte // as written
	key     string // see idKey
	claimed atomic.Bool
}

// claim reports whether the caller may answer. It does so once, and never after a cancel.
func (a *asked) claim() bool { return !a.claimed.Swap(true) }

// call is one line on its way to the ship: a request, a notification, a response to a request
// of the server's, or a batch of them.
type call struct {
	line    []byte
	message message  // zero for a batch
	batch   bool     // the line is an array
	asked   []*asked // the requests in it; none for a notification or a response

	ctx    context.Context // the call's own, from begin on
	cancel context.CancelCauseFunc
	route  route
	sent   chan struct{}   // closed once the line was handed to the kernel, or the call has ended
	once   atomic.Bool     // sent is closed
	opened <-chan struct{} // the answer to the initialize before this line; nil if there was none
	opens  chan struct{}   // closed when this initialize was answered; nil for other lines
}

func newCall(line []byte) *call { return &call{line: line, sent: make(chan struct{})} }

// begin gives the call a context of its own, which finish ends.
func (c *call) begin(root context.Context) {
	ctx, cancel := context.WithCancelCause(root)
	c.ctx, c.cancel = c.route.traced(ctx, c.markSent), cancel
}

func (c *call) ask(id []byte) {
	key, _ := idKey(id)
	c.asked = append(c.asked, &asked{id: id, key: key})
}

func (c *call) markSent() {
	if !c.once.Swap(true) {
		close(c.sent)
	}
}

// drop takes the request with this key out of the call, unanswered, and ends the call if
// nobody waits for the rest of it.
func (c *call) drop(key string) {
	found, left := false, false
	for _, a := range c.asked {
		if a.key == key {
			a.claimed.Store(true)
			found = true
		}
		left = left || !a.claimed.Load()
	}
	if found && !left {
		c.cancel(errCancelled)
	}
}

// unsent says that an attempt failed before all of the call was written, while somebody still
// waits for it.
func (c *call) unsent(err error) bool {
	var away *unreachableError
	return c.ctx.Err() == nil && (errors.As(err, &away) || c.route.unsent())
}

// cutOff says that an unsent attempt was broken off in the middle, with no word why. A ship that says
// that it did not read the call is away, however often it says so.
func (c *call) cutOff(err error) bool {
	var away *unreachableError
	return !errors.As(err, &away) && c.route.begun()
}

// open gives the request that m answers and that nobody has answered yet, or nil.
func (c *call) open(m message) *asked {
	for _, a := range c.asked {
		if m.answers(a.key) && !a.claimed.Load() {
			return a
		}
	}
	return nil
}

// done says that every request in the line has its answer or was cancelled.
func (c *call) done() bool {
	for _, a := range c.asked {
		if !a.claimed.Load() {
			return false
		}
	}
	return true
}

// body is the call's line as the body of one attempt, of a kind that net/http knows to be in memory:
// it writes a short one together with its head then.
func (c *call) body() io.ReadCloser { return io.NopCloser(bytes.NewReader(c.line)) }
