package bridge

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"fleet/api"
)

// limits is a forge that says what it is told to say of its rate.
type limits struct {
	record
	status int
	header map[string]string
}

func (l *limits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.note(r)
	for name, value := range l.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(l.status)
}

func at(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func TestWhatIsLeftIsKeptForWrites(t *testing.T) {
	now := time.Now()
	cases := map[string]struct {
		remaining   string
		read, write string
	}{
		"plenty":               {"4999", "<nil>", "<nil>"},
		"one over the rest":    {"1001", "<nil>", "<nil>"},
		"the rest":             {"1000", "rate_limited/quota", "<nil>"},
		"the last":             {"1", "rate_limited/quota", "<nil>"},
		"nothing":              {"0", "rate_limited/quota", "rate_limited/quota"},
		"something unheard of": {"many", "<nil>", "<nil>"},
	}
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		for name, tc := range cases {
			l := &limits{status: 200, header: map[string]string{
				prefix + "Limit": "5000", prefix + "Remaining": tc.remaining, prefix + "Reset": at(now.Add(10 * time.Minute)),
			}}
			forge := serveOn(t, "127.0.0.1", l)
			g := guardOf(t, forge.URL)
			if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil {
				t.Fatal(err)
			}
			_, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", "")
			if codeOf(err) != tc.read {
				t.Errorf("%s: a read = %v, want %s", name, err, tc.read)
			}
			var e *api.Error
			if errors.As(err, &e) && (e.RetryAfterSeconds < 590 || e.RetryAfterSeconds > 601) {
				t.Errorf("%s: retry after %d seconds, want about 600", name, e.RetryAfterSeconds)
			}
			if _, _, err := ask(t.Context(), g, "POST", forge.URL+commentPath, "{}"); codeOf(err) != tc.write {
				t.Errorf("%s: a write = %v, want %s", name, err, tc.write)
			}
			// What a write must read first is part of it.
			if _, _, err := ask(WithWrite(t.Context()), g, "GET", forge.URL+"/repos/a/b/pulls/1", ""); codeOf(err) != tc.write {
				t.Errorf("%s: a read for a write = %v, want %s", name, err, tc.write)
			}
		}
	}
}

func TestAPeriodThatHasEndedIsForgotten(t *testing.T) {
	now := time.Now()
	l := &limits{status: 403, header: map[string]string{
		"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(now.Add(10 * time.Minute)),
	}}
	forge := serveOn(t, "127.0.0.1", l)
	clock := now
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Now = func() time.Time { return clock } })
	if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil || status != 403 {
		t.Fatalf("GET = %d, %v", status, err)
	}
	if q := g.quota.resources["core"]; q.remaining != 0 || q.reserved != 1000 {
		t.Errorf("the quota is taken for %+v", q)
	}
	if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); codeOf(err) != "rate_limited/quota" {
		t.Errorf("within the period GET = %v", err)
	}
	clock = now.Add(11 * time.Minute)
	if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil || status != 403 {
		t.Errorf("after the period GET = %d, %v", status, err)
	}
}

// Asking within a ban makes it longer: every form of it stops everything, writes too.
func TestABanIsHeeded(t *testing.T) {
	now := time.Now()
	cases := map[string]struct {
		status int
		header map[string]string
		wait   int
	}{
		"429 in seconds":    {429, map[string]string{"Retry-After": "60"}, 60},
		"403 in seconds":    {403, map[string]string{"Retry-After": "60"}, 60},
		"429 with a date":   {429, map[string]string{"Retry-After": now.Add(90 * time.Second).UTC().Format(http.TimeFormat)}, 90},
		"far too long":      {429, map[string]string{"Retry-After": "99999999"}, 3600},
		"nothing left":      {429, map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(now.Add(time.Minute))}, 60},
		"a reset in a year": {429, map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(now.AddDate(1, 0, 0))}, 3600},
	}
	for name, tc := range cases {
		l := &limits{status: tc.status, header: tc.header}
		forge := serveOn(t, "127.0.0.1", l)
		g := guardOf(t, forge.URL)
		if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil || status != tc.status {
			t.Fatalf("%s: GET = %d, %v", name, status, err)
		}
		for _, method := range []string{"GET", "POST"} {
			ctx := WithWrite(t.Context())
			_, _, err := ask(ctx, g, method, forge.URL+commentPath, "")
			var e *api.Error
			if codeOf(err) != "rate_limited/quota" || !errors.As(err, &e) || e.RetryAfterSeconds < tc.wait-5 || e.RetryAfterSeconds > tc.wait+2 {
				t.Errorf("%s: %s = %+v, want rate_limited for %d s", name, method, err, tc.wait)
			}
			if unclear(ctx) {
				t.Errorf("%s: a %s that was not sent may be done", name, method)
			}
		}
		if l.all() != "GET /repos/a/b" {
			t.Errorf("%s: the forge saw %s", name, l.all())
		}
	}
}

func TestA403WithoutATimeIsNoBan(t *testing.T) {
	l := &limits{status: 403}
	forge := serveOn(t, "127.0.0.1", l)
	g := guardOf(t, forge.URL)
	for range 2 {
		if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil || status != 403 {
			t.Errorf("GET = %d, %v", status, err)
		}
	}
	// Only the provider can read the ban in the answer's text.
	g.Pause(30 * time.Second)
	g.Pause(time.Second)
	_, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", "")
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.RateLimited || e.RetryAfterSeconds != 30 || g.quota.paused.IsZero() {
		t.Errorf("after Pause GET = %+v", err)
	}
}

// GitHub counts GraphQL apart.
func TestResourcesAreCountedApart(t *testing.T) {
	l := &limits{status: 200, header: map[string]string{
		"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Resource": "graphql",
		"X-RateLimit-Reset": at(time.Now().Add(time.Minute)),
	}}
	forge := serveOn(t, "127.0.0.1", l)
	g := guardOf(t, forge.URL)
	if _, _, err := ask(t.Context(), g, "POST", forge.URL+"/graphql", "{}"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t.Context(), g, "POST", forge.URL+"/graphql", "{}"); codeOf(err) != "rate_limited/quota" {
		t.Errorf("GraphQL = %v", err)
	}
	if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil {
		t.Errorf("REST = %v", err)
	}
}

func TestAnotherCredentialHasAQuotaOfItsOwn(t *testing.T) {
	l := &limits{status: 429, header: map[string]string{
		"Retry-After": "600", "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(time.Now().Add(time.Hour)),
	}}
	forge := serveOn(t, "127.0.0.1", l)
	token := "first-token"
	g := guardOf(t, forge.URL, func(c *GuardConfig) { c.Credential = swapped{&token} })
	if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); codeOf(err) != "rate_limited/quota" {
		t.Fatalf("GET = %v", err)
	}
	token = "second-token"
	l.status, l.header = 200, nil
	for range 2 {
		if status, _, err := ask(t.Context(), g, "GET", forge.URL+"/repos/a/b", ""); err != nil || status != 200 {
			t.Errorf("under another credential GET = %d, %v", status, err)
		}
	}
}

// A forge whose clock is an hour ahead must not stop us for an hour more.
func TestTimesAreReadByTheForgesOwnClock(t *testing.T) {
	now := time.Now()
	theirs := now.Add(time.Hour)
	resp := &http.Response{Header: http.Header{
		"Date":              {theirs.UTC().Format(http.TimeFormat)},
		"X-Ratelimit-Limit": {"60"}, "X-Ratelimit-Remaining": {"0"},
		"X-Ratelimit-Reset": {at(theirs.Add(2 * time.Minute))},
		"Retry-After":       {theirs.Add(3 * time.Minute).UTC().Format(http.TimeFormat)},
	}}
	q, ok := readQuota(resp, now)
	if wait := q.reset.Sub(now); !ok || wait < 118*time.Second || wait > 122*time.Second {
		t.Errorf("the period ends in %v, want 2m", wait)
	}
	if wait := retryAfter(resp, now); wait < 178*time.Second || wait > 182*time.Second {
		t.Errorf("retry after %v, want 3m", wait)
	}
}

func TestAShorterBanDoesNotShortenALongerOne(t *testing.T) {
	now := time.Now()
	q := newQuota(func() time.Time { return now })
	for _, wait := range []string{"600", "60"} {
		q.observe("core", "x", &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {wait}}})
	}
	if got := q.paused.Sub(now); got != 600*time.Second {
		t.Errorf("the ban lasts %v, want 10m", got)
	}
}
