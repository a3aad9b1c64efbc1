package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"fleet/internal/atlas"
)

// The pause between two attempts to reach a ship that is away grows from the first to the last.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// waiting is one call's, for a ship that is away.
type waiting struct {
	deadline time.Time
	pause    time.Duration // before the next try
	last     bool          // the patience has ended
	cuts     int           // tries that a ship ended in the middle
}

// maxCuts is how often a ship may end a call in its middle: one that does so again is not being
// restarted, and each try sends megabytes.
const maxCuts = 3

// exchange sends a call and hands out what comes back. When it returns, each request in the
// call that is still unanswered gets the error, which is never nil then.
//
// A call is sent again only where that cannot do it twice: where not all of it was written, where
// the ship says that it did not read it, and after a 401.
func (s *session) exchange(c *call) error {
	if c.batch && s.negotiated() != batchVersion {
		return noBatches() // known only now, behind the initialize before it
	}
	w := waiting{deadline: s.deadline(c), pause: firstPause}
	timeout := time.AfterFunc(s.config.AnswerTimeout, func() { c.cancel(errTimeout) })
	defer timeout.Stop()
	t, err := s.link.target(c.ctx)
	if err != nil {
		return err
	}
	renewed := false
	for {
		timeout.Reset(s.config.AnswerTimeout)
		resp, err := s.post(c, t)
		switch {
		case err != nil && !c.unsent(err):
			return s.broken(c.ctx, err)
		case err != nil && c.cutOff(err) && w.cutAgain():
			return s.cutOff(c, err)
		case err != nil:
			if t, err = s.away(c, t, &w, err); err != nil {
				return err
			}
		case resp.StatusCode == http.StatusUnauthorized && !renewed:
			renewed = true
			if t, err = s.repeat(c, t, resp); t == nil {
				return err
			}
		default:
			return s.receive(c, t, resp)
		}
	}
}

// deadline is until when a call waits for a ship that is away. A harness that falls back from
// server/discover to initialize has one start-up limit for the two: they share one patience, and
// what opens after its end is tried once.
func (s *session) deadline(c *call) time.Time {
	now := time.Now()
	if c.message.method != methodInitialize && c.message.method != methodDiscover {
		return now.Add(s.config.Patience)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.openBy.IsZero() {
		s.openBy = now.Add(s.config.StartPatience)
	}
	return s.openBy
}

// reached gives the next opening a patience of its own: the ship answered.
func (s *session) reached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openBy = time.Time{}
}

func (s *session) post(c *call, t *target) (*http.Response, error) {
	c.route.conn = nil
	req := &http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: s.header(c, t),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: c.body(), GetBody: func() (io.ReadCloser, error) { return c.body(), nil },
		ContentLength: int64(len(c.line)),
	}
	resp, err := read(s.transport.RoundTrip(req.WithContext(c.ctx)))
	if err == nil {
		s.reached()
	}
	return resp, err
}

// away gives where to try again after a try that met no ship, or why there is no more trying. The
// last try is made when the patience ends, not a pause before; a ship that is found elsewhere by
// then gets one more.
func (s *session) away(c *call, t *target, w *waiting, cause error) (*target, error) {
	left := time.Until(w.deadline)
	next, err := s.wait(c, t, min(w.pause, left))
	if left <= 0 && (w.last || err != nil || next == t) {
		return nil, s.notRunning(t, errors.Join(err, cause))
	}
	w.pause, w.last = min(2*w.pause, lastPause), left <= 0
	if err != nil {
		next = t
	}
	return next, nil
}

// wait sleeps and looks whether the ship has moved. An error may pass: a ship that has moved
// tells its sessions a moment later.
func (s *session) wait(c *call, t *target, pause time.Duration) (*target, error) {
	select {
	case <-c.ctx.Done():
		return t, nil
	case <-time.After(pause):
		return s.link.relocate(c.ctx, t)
	}
}

// repeat finds the token with which to repeat a call that the ship refused with 401, which
// proves that it did nothing. Where there is none it gives the outcome of the call.
func (s *session) repeat(c *call, t *target, resp *http.Response) (*target, error) {
	body, err := readBody(resp)
	if err != nil {
		return nil, s.unread(c, err)
	}
	renewed, err := s.link.renew(c.ctx, t)
	if renewed != nil {
		return renewed, nil
	}
	if text, ok := compact(body); ok && text[0] == '{' && s.answer(c, parse(text), text) {
		return nil, nil
	}
	var f *failure
	if errors.As(err, &f) {
		return nil, f
	}
	text := fmt.Sprintf("workspace %s is not active: it has no tmux session with a token, and the ship serves active workspaces only. "+
		"Ask the operator to run: ship activate %s", s.link.id, s.link.id.Shell())
	return nil, (&failure{message: text, cause: err}).quoting(resp, body, t.token.Reveal())
}

// broken says why no answer came, in the order of what is known for sure.
func (s *session) broken(ctx context.Context, err error) error {
	var foreign *foreignError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &foreign):
		return &failure{cause: err, message: fmt.Sprintf(
			"the listener on %s, so no token was sent. Ask the operator to end that program, or to give this atlas another port in %s and run: ship up",
			foreign, filepath.Join(s.link.root, atlas.FileName))}
	case errors.Is(cause, errTimeout):
		return &failure{cause: cause, message: fmt.Sprintf(
			"the ship gave no answer within %v. The call may have been done: look before you repeat it", s.config.AnswerTimeout)}
	case cause != nil:
		return &failure{cause: cause, message: cause.Error() + " before the answer came. The call may have been done: look before you repeat it"}
	}
	return &failure{cause: err, message: "the connection to the ship broke off before the answer came. " +
		"The call may have been done: look before you repeat it"}
}

// cutAgain counts a try that was cut off, and says that there were enough of them.
func (w *waiting) cutAgain() bool {
	w.cuts++
	return w.cuts >= maxCuts
}

func (s *session) cutOff(c *call, err error) error {
	return &failure{cause: err, message: fmt.Sprintf(
		"the ship ended the connection %d times before it had read the %d bytes of this call, so nothing was done. Send less in one call",
		maxCuts, len(c.line))}
}

func (s *session) notRunning(t *target, cause error) error {
	var f *failure
	if errors.As(cause, &f) {
		return f
	}
	return &failure{cause: cause, message: fmt.Sprintf(
		"the ship of %s does not answer on port %d, so nothing was done. Ask the operator to run: ship up (or ship serve), then call again",
		s.link.root, t.port)}
}
