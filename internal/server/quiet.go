package server

import (
	"log/slog"
	"sync"
	"time"
)

// throttle lets a burst through and then one a minute, so that whoever sends bad tokens in a
// loop can neither fill the event log nor push older events out of it. The zero throttle is ready.
type throttle struct {
	mu    sync.Mutex
	spent int
	since time.Time // when spent was last made smaller
}

const (
	throttleBurst = 10
	throttleEvery = time.Minute
)

func (t *throttle) allow(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spent == 0 {
		t.since = now
	}
	if back := int(now.Sub(t.since) / throttleEvery); back > 0 {
		t.spent = max(0, t.spent-back)
		t.since = t.since.Add(time.Duration(back) * throttleEvery)
	}
	if t.spent >= throttleBurst {
		return false
	}
	t.spent++
	return true
}

// quietly logs the first of a row of failures, and their end.
type quietly struct {
	logger *slog.Logger
	mu     sync.Mutex
	failed bool
}

func (q *quietly) report(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err != nil && !q.failed:
		q.logger.Error("calls are answered but cannot be logged", "err", err)
	case err == nil && q.failed:
		q.logger.Info("calls are logged again")
	}
	q.failed = err != nil
}
