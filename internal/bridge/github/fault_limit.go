package github

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"fleet/api"
)

const (
	// GitHub: where a secondary limit names no time, wait at least a minute.
	// See https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
	secondaryWait = 60
	maxWait       = 3600
)

// limited knows GitHub's ways to say that it limits our rate: 429; 403 with nothing left, with
// Retry-After, with a link to its page on secondary limits, or in words alone.
func (r refusal) limited() bool {
	if r.status == http.StatusTooManyRequests {
		return true
	}
	if r.status != http.StatusForbidden {
		return false
	}
	return r.header.Get("X-RateLimit-Remaining") == "0" || r.header.Get("Retry-After") != "" ||
		strings.HasSuffix(r.docs, "secondary-rate-limits") || strings.HasSuffix(r.docs, "#abuse-rate-limits") ||
		r.says("secondary rate limit", "abuse detection", "api rate limit exceeded")
}

func (r refusal) rateFault() *api.Error {
	e := &api.Error{
		Code: api.RateLimited, Reason: "secondary", RetryAfterSeconds: r.retryAfter(),
		Message: "the forge limits how fast the bridge's account may ask", Hint: "wait that long before asking again",
		Err: r.cause(),
	}
	if r.header.Get("X-RateLimit-Remaining") == "0" {
		e.Reason, e.Message = "primary", "the bridge's account has used what the forge allows it for now"
		if e.RetryAfterSeconds == 0 {
			e.RetryAfterSeconds = r.untilReset()
		}
	}
	return e
}

// retryAfter reads the header in seconds or as a date; 0: it is not there.
func (r refusal) retryAfter() int {
	text := r.header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return min(n, maxWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return r.until(at)
	}
	return 0
}

func (r refusal) untilReset() int {
	at, err := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return 0
	}
	return r.until(time.Unix(at, 0))
}

// until counts by the forge's own clock, where it tells.
func (r refusal) until(then time.Time) int {
	now, err := http.ParseTime(r.header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(int(then.Sub(now)/time.Second)+1, 1), maxWait)
}

// pause stops the guard for as long as a limit lasts whose time no header tells; the guard heeds
// headers by itself.
func (p *Provider) pause(r refusal, told int) int {
	if told > 0 {
		return told
	}
	p.guard.Pause(secondaryWait * time.Second)
	return secondaryWait
}
