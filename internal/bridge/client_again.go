package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fleet/api"
)

// A restart of the bridge shows in no call: whatever of a call it did not do is asked of the next
// one. That takes exact knowledge of what may have been done, so a write's text does not leave the
// ship before the bridge asks for it (RFC 9110 §10.1.1, 100-continue) or continueTime is over. A
// connection that breaks before its text has left, for whatever reason, has done nothing.

const (
	// awayPatience is how long a bridge that is away is waited for: what its end leaves to calls that
	// are under way, and two seconds to start.
	awayPatience = closeTime + 2*time.Second
	// awayMemory is how long a bridge counts as away after the last look at it.
	awayMemory = time.Minute
	// mostCuts is how often a call is asked again whose connection broke and that did nothing.
	mostCuts = 3
	// continueTime bounds the wait for the bridge to ask for a write's text, since a proxy may swallow
	// that: then it is sent unasked.
	continueTime = 2 * time.Second

	// The pause before a further try grows from the first to the last.
	firstPause = 20 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

var (
	// errAnswerLost marks a write that may have been done: it was sent, and not answered to the end.
	errAnswerLost = errors.New("the bridge's answer was lost")
	// errAway marks a call that nobody took.
	errAway = errors.New("no bridge listens")
	// errCut marks a call whose connection broke, and that can be repeated: it did nothing, or reads.
	errCut = errors.New("the connection to the bridge broke")
)

// sending is one try of a call on its way.
type sending struct {
	writes bool
	held   atomic.Bool // it had a connection
	sent   atomic.Bool // the text of a write may have left
}

func (s *sending) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { s.held.Store(true) },
	})
}

// carry gives req its body. There is no GetBody: net/http would send it again by itself, and then
// tell of the last try alone.
func (s *sending) carry(req *http.Request, raw []byte) {
	req.Body, req.ContentLength = io.NopCloser(&watched{bytes.NewReader(raw), s}), int64(len(raw))
	req.Header.Set("Expect", "100-continue")
}

// watched notes that it is read.
type watched struct {
	from *bytes.Reader
	way  *sending
}

// Read notes it before it gives anything away.
func (w *watched) Read(p []byte) (int, error) {
	w.way.sent.Store(true)
	return w.from.Read(p)
}

// kind is errAway or errCut, or nil where another try would meet the same.
func (s *sending) kind(err error) error {
	is := func(causes ...error) bool {
		for _, cause := range causes {
			if errors.Is(err, cause) {
				return true
			}
		}
		return false
	}
	var undialed undialedError
	switch {
	case errors.As(err, &undialed):
		// A unix socket is gone while nobody listens, or has too many waiting (EAGAIN).
		if is(syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENOENT, syscall.EAGAIN) {
			return errAway
		}
	case s.held.Load(), is(io.EOF, syscall.ECONNRESET, syscall.EPIPE):
		return errCut
	}
	return nil
}

// tries are those of one call.
type tries struct {
	client *Client
	pause  time.Duration
	cuts   int
	lost   bool // a write may have been done
}

// again says whether to ask once more after err, and waits before it.
func (t *tries) again(ctx context.Context, err error) bool {
	switch {
	case errors.Is(err, errAnswerLost):
		again := !t.lost && ctx.Err() == nil
		t.lost = true
		return again
	case errors.Is(err, errCut):
		t.cuts++
		return t.cuts <= mostCuts && pause(ctx, firstPause)
	case isAway(err):
		wait := t.pause
		t.pause = min(2*t.pause, lastPause)
		return t.client.absence.bearable(t.client.patience) && pause(ctx, wait)
	}
	return false
}

// isAway says that there was no bridge, or one that is about to end.
func isAway(err error) bool {
	var e *api.Error
	return errors.Is(err, errAway) || errors.As(err, &e) && e.Reason == reasonEnding
}

// outcome is what the last try's err, or nil, says of them all.
func (t *tries) outcome(r Request, err error) error {
	if !isAway(err) {
		t.client.absence.end()
	}
	if t.lost && err != nil && !decided(err) {
		return lostWrite(r, err)
	}
	return err
}

// absence is a time for which no bridge was there. It is one for all calls, so that a bridge that
// stays away holds up none but the first. It is safe for concurrent use.
type absence struct {
	mu          sync.Mutex
	since, last time.Time // zero: it is there, as far as is known
}

// bearable says that a bridge which was not there just now may be waited for.
func (a *absence) bearable(patience time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.Sub(a.last) > awayMemory { // whether it was there meanwhile, nobody has seen
		a.since = now
	}
	a.last = now
	return now.Sub(a.since) < patience
}

// end says that it is there.
func (a *absence) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Time{}
}
