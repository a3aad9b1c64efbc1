package bridgetest

import (
	"net/http"
	"strings"
	"time"
)

// Limit is one of the ways in which GitHub says that it limits the rate.
type Limit int

// The limits. The primary one has its headers; the secondary ones show themselves in a header, in
// the documentation's address or in words alone; GraphQL answers 200.
const (
	NoLimit Limit = iota
	PrimaryLimit
	SecondaryRetryAfter
	SecondaryWords
	TooManyRequests
	GraphQLLimit
)

// limitWait is what the limits with a time tell: seconds.
const limitWait = 90

// LimitRate has GitHub limit the rate from now on.
func (g *GitHub) LimitRate(l Limit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = l
}

// quota is what a credential has in an hour.
type quota struct {
	limit, used int
	reset       time.Time
}

func newQuota() *quota { return &quota{limit: 5000, reset: time.Now().Add(time.Hour)} }

// SetQuota says how many requests an hour are allowed, and how many of them are left.
func (g *GitHub) SetQuota(limit, remaining int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota.limit, g.quota.used = limit, limit-remaining
}

// Used is how many requests counted so far.
func (g *GitHub) Used() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.quota.used
}

// limited gives the answer of a limit; nil: there is none now.
func (g *GitHub) limited(c *call) *reply {
	const docs = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"
	secondary := "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	r := refuse(http.StatusForbidden, secondary)
	switch limit := g.limit; {
	case limit == PrimaryLimit:
		g.quota.used = g.quota.limit
		g.quota.reset = time.Now().Add(limitWait * time.Second)
		r = refuse(http.StatusForbidden, "API rate limit exceeded for user ID 1.")
		r.body.(object)["documentation_url"] = docs
	case limit == SecondaryRetryAfter:
		r = r.with("Retry-After", number(limitWait))
	case limit == SecondaryWords:
	case limit == TooManyRequests:
		r = refuse(http.StatusTooManyRequests, "Too many requests").with("Retry-After", number(limitWait))
	case limit == GraphQLLimit && c.route.path == "/graphql":
		r = ok(object{"data": nil, "errors": []any{object{"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}}})
	default:
		return nil
	}
	return &r
}

// count adds the headers of the quota, which a 304 leaves as it is.
// See https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
func (g *GitHub) count(c *call, r *reply) {
	if c.token == nil && c.route != nil && c.route.open {
		return
	}
	q := g.quota
	if r.status != http.StatusNotModified && r.status != http.StatusUnauthorized && q.used < q.limit {
		q.used++
	}
	resource := "core"
	if strings.HasSuffix(c.path, "/graphql") {
		resource = "graphql"
	}
	h := r.header
	h.Set("X-RateLimit-Limit", number(q.limit))
	h.Set("X-RateLimit-Remaining", number(q.limit-q.used))
	h.Set("X-RateLimit-Used", number(q.used))
	h.Set("X-RateLimit-Reset", number(q.reset.Unix()))
	h.Set("X-RateLimit-Resource", resource)
}

func showQuota(c *call) reply {
	q := c.gh.quota
	rate := object{"limit": q.limit, "remaining": q.limit - q.used, "used": q.used, "reset": q.reset.Unix()}
	return ok(object{"resources": object{"core": rate, "search": rate, "graphql": rate}, "rate": rate})
}
