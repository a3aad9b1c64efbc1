package server

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"fleet/internal/atlas"
)

// What one workspace may ask of the port, so that an agent gone wild does not slow its siblings.
// An adapter has 64 requests in flight at most, and an agent makes a few in a second.
const (
	maxInFlight = 128
	// Beside others a workspace has so many requests a second, and may save up as many as an adapter
	// has in flight: more at once would be a wave that the siblings wait for. By itself it has as many
	// as the machine can do.
	requestsPerSecond = 500
	savedUp           = 64 * time.Second / requestsPerSecond
	companyTime       = time.Minute // since another's last request
	longestTurn       = time.Second
	// A refusal takes its time, or refusing would be what slows the siblings; and up to as much again,
	// or those who were refused together would come back together.
	refusalPause = time.Second
)

// limits keeps each workspace to its share. The zero limits is ready; it is safe for concurrent use.
type limits struct {
	mu     sync.Mutex
	shares map[atlas.ID]*share

	last            atlas.ID // who asked last
	lastAt, otherAt time.Time
}

// share is what one workspace asked.
type share struct {
	inFlight int
	next     time.Time // when the next request has its turn
}

// enter says how long id's request has to wait for its turn, or not ok where it gets none. After
// ok, leave must follow.
func (l *limits) enter(id atlas.ID, now time.Time) (s *share, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != id {
		l.last, l.otherAt = id, l.lastAt
	}
	l.lastAt = now
	if l.shares == nil {
		l.shares = map[atlas.ID]*share{}
	}
	if s = l.shares[id]; s == nil {
		s = &share{}
		l.shares[id] = s
	}
	if now.Sub(l.otherAt) > companyTime {
		s.next = time.Time{}
	}
	if saved := now.Add(-savedUp); s.next.Before(saved) {
		s.next = saved
	}
	wait = s.next.Sub(now)
	if s.inFlight >= maxInFlight || wait > longestTurn {
		return nil, 0, false
	}
	s.inFlight++
	s.next = s.next.Add(time.Second / requestsPerSecond)
	return s, max(wait, 0), true
}

func (l *limits) leave(s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.inFlight--
}

func (l *limits) drop(id atlas.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.shares, id)
}

// limited is next for a workspace that keeps to its share. It waits for its turn where it has
// asked too much, and is refused where that does not help.
func (s *Server) limited(w http.ResponseWriter, r *http.Request, id atlas.ID, next func()) {
	share, wait, ok := s.limits.enter(id, time.Now())
	if !ok {
		pause(r.Context(), refusalPause+rand.N(refusalPause))
		w.Header()["Retry-After"] = []string{strconv.Itoa(int(refusalPause.Seconds()))}
		w.Header()["Connection"] = []string{"close"}
		refuseHTTP(w, http.StatusTooManyRequests, "rate_limited: this workspace has too many requests in flight, and nothing was done for this one. "+
			"Retry after 1 second. Next: wait for answers before you send more")
		return
	}
	defer s.limits.leave(share)
	// Only now, so that connections beyond the share can be closed for others.
	keepOpen(r.Context())
	if wait > 0 && !pause(r.Context(), wait) {
		return
	}
	next()
}

// pause waits, and gives false where ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
