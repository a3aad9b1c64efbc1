package bridge

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"fleet/api"
)

const (
	// Of what a forge allows in its period, one part in this many is kept for writes.
	reservedPart = 5
	// No forge's period is longer; a clock gone wild must not stop us for days.
	maxWait = time.Hour
)

// allowance is what the forge last said of a credential's rate.
type allowance struct {
	remaining int
	reset     time.Time // end of the period, by our clock
	reserved  int       // reads are refused once remaining is down to it
}

// quota keeps the state of one credential, by the forge's resource (core, graphql …).
type quota struct {
	now func() time.Time

	mu        sync.Mutex
	signed    string // fingerprint of the credential that all this is about
	resources map[string]allowance
	paused    time.Time
	behind    time.Duration // the forge's clock, see Guard.behind
	clock     bool          // the forge has said what time it has
}

func newQuota(now func() time.Time) *quota {
	return &quota{now: now, resources: map[string]allowance{}}
}

// admit refuses what the forge would refuse, and reads that would eat what is kept for writes.
// Asking a forge that limits us only makes it limit us for longer.
func (q *quota) admit(resource, signed string, write bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.signed != "" && q.signed != signed {
		return nil
	}
	now := q.now()
	if now.Before(q.paused) {
		return limited("the forge limits the rate of the bridge's account", q.paused.Sub(now))
	}
	state, known := q.resources[resource]
	if !known || !now.Before(state.reset) {
		return nil
	}
	if state.remaining <= 0 {
		return limited("the forge allows the bridge's account no more requests for now", state.reset.Sub(now))
	}
	if !write && state.remaining <= state.reserved {
		return limited("what the forge still allows the bridge's account is kept for comments and reviews", state.reset.Sub(now))
	}
	return nil
}

// observe takes in what an answer says. Another credential begins without a past.
func (q *quota) observe(resource, signed string, resp *http.Response) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if signed != q.signed {
		q.signed, q.paused = signed, time.Time{}
		clear(q.resources)
	}
	now := q.now()
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		q.behind, q.clock = max(now.Sub(date), 0), true
	}
	if state, ok := readQuota(resp, now); ok {
		if name := resp.Header.Get("X-Ratelimit-Resource"); name != "" && len(name) < 32 && len(q.resources) < 16 {
			resource = name
		}
		q.resources[resource] = state
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusForbidden {
		if wait := retryAfter(resp, now); wait > 0 && now.Add(wait).After(q.paused) {
			q.paused = now.Add(wait)
		}
	}
}

// pause is for limits that only the answer's text tells.
func (q *quota) pause(wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := q.now().Add(min(wait, maxWait)); until.After(q.paused) {
		q.paused = until
	}
}

// behind is by how much, at most, the forge's clock was behind ours when it last answered; 0 where
// it was ahead, or has not said.
func (g *Guard) behind() time.Duration {
	g.quota.mu.Lock()
	defer g.quota.mu.Unlock()
	return g.quota.behind
}

// knowsClock says that the forge has answered with its time.
func (g *Guard) knowsClock() bool {
	g.quota.mu.Lock()
	defer g.quota.mu.Unlock()
	return g.quota.clock
}

// readQuota reads the headers of GitHub and Gitea (X-RateLimit-…) or GitLab (RateLimit-…).
func readQuota(resp *http.Response, now time.Time) (allowance, bool) {
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		limit, err1 := strconv.Atoi(resp.Header.Get(prefix + "Limit"))
		remaining, err2 := strconv.Atoi(resp.Header.Get(prefix + "Remaining"))
		reset, err3 := strconv.ParseInt(resp.Header.Get(prefix+"Reset"), 10, 64)
		if err1 != nil || err2 != nil || err3 != nil || limit <= 0 {
			continue
		}
		end := byOurClock(now, time.Unix(reset, 0), resp)
		if latest := now.Add(maxWait); end.After(latest) {
			end = latest
		}
		return allowance{remaining: remaining, reset: end, reserved: limit / reservedPart}, true
	}
	return allowance{}, false
}

// retryAfter reads the header in both its forms (RFC 9110 §10.2.3); 0: it says nothing.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(byOurClock(now, at, resp).Sub(now), 0), maxWait)
	}
	return 0
}

func limited(message string, wait time.Duration) *api.Error {
	return &api.Error{
		Code: api.RateLimited, Reason: "quota", Message: message, RetryAfterSeconds: seconds(wait),
		Hint: "wait that long before asking again",
	}
}

// seconds rounds up, so that nobody comes back too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
