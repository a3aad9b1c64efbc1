package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

func TestRoutesAndPathsAreTheSame(t *testing.T) {
	doc := loadContract(t).doc
	described := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			described[method+" "+path] = op.OperationID
		}
	}
	served := map[string]string{"GET /v1/healthz": "healthz", "HEAD /v1/healthz": "healthz_head"}
	for _, r := range routes() {
		served[r.method+" "+r.path] = r.op
	}
	if !maps.Equal(described, served) {
		t.Errorf("described are %v, served %v", described, served)
	}
}

// example is a request that a route answers.
func (r route) example(n int) (target, key, body string) {
	target = strings.NewReplacer("{repo}", "widgets", "{number}", "7").Replace(r.path)
	switch q := (Request{Op: r.op}); {
	case r.op == OpChecks || r.op == OpFailedLogs:
		target += "?branch=main"
	case r.op == OpPRReview:
		body = fmt.Sprintf(`{"body":"done %d","event":"APPROVE"}`, n)
	case q.writes():
		body = fmt.Sprintf(`{"body":"done %d"}`, n)
	}
	if body != "" {
		key = comment("").Key
	}
	return target, key, body
}

func TestAnswersAreAsDescribed(t *testing.T) {
	k := loadContract(t)
	for name, terse := range map[string]bool{"with all there is to say": false, "with as little as possible": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &wordyForge{terse: terse}
				b := openBench(t, "", &f.fakeForge, f.provider)
				all := func(method string, status int, with string) {
					for n, r := range routes() {
						target, key, body := r.example(n)
						if r.method != method {
							continue
						}
						w := k.send(t, b.Handler(), b.Local(), method, target, key, body)
						if w.Code != status || !strings.Contains(w.Body.String(), with) {
							t.Errorf("%s: %d %s, want %d with %s", r.op, w.Code, w.Body, status, with)
						}
					}
				}
				all("POST", 200, `"url":`)
				all("POST", 200, `"duplicate_of":`)
				all("GET", 200, `{`)
				f.limited.Store(true)
				time.Sleep(maxStale)
				all("GET", 200, `"age":{"age_seconds":300`)
				time.Sleep(time.Second)
				all("GET", 429, `"retry_after_seconds":30`)
				k.send(t, b.Handler(), Secret{}, "GET", "/v1/healthz", "", "")
				k.send(t, b.Handler(), Secret{}, "HEAD", "/v1/healthz", "", "")
				k.send(t, b.Handler(), b.Local(), "GET", "/v1/healthz", "", "")
			})
		})
	}
}

func TestRefusalsAreAsDescribed(t *testing.T) {
	k := loadContract(t)
	fails := func(code api.Code, retry int) func(*fakeForge) {
		err := &api.Error{Code: code, Reason: "a_reason", Message: "it failed", Hint: "do something", RetryAfterSeconds: retry}
		return func(f *fakeForge) {
			f.info = func(context.Context) (*api.RepoInfo, error) { return nil, err }
			f.write = func(context.Context, Write, func() *api.Written) (*api.Written, error) { return nil, err }
		}
	}
	const comments, ours = "/v1/repos/widgets/issues/7/comments", `{"body":"done"}`
	key := comment("").Key
	cases := map[string]struct {
		forge                     func(*fakeForge)
		method, target, key, body string
		ship                      string // "": all verbs on everything
		status                    int
	}{
		"no ship":                {nil, "GET", "/v1/repos/widgets", "", "", "none", 401},
		"no ship and no address": {nil, "GET", "/nowhere", "", "", "none", 401},
		"the bridge is refused":  {fails(api.Unauthenticated, 0), "GET", "/v1/repos/widgets", "", "", "", 401},
		"no verb":                {nil, "POST", comments, key, ours, "reader", 403},
		"a credential":           {nil, "POST", comments, key, `{"body":"` + fakeToken + `"}`, "", 403},
		"no such repository":     {nil, "GET", "/v1/repos/nope", "", "", "", 404},
		"not granted":            {nil, "GET", "/v1/repos/gadgets", "", "", "reader", 404},
		"no such address":        {nil, "GET", "/v2", "", "", "", 404},
		"not on the forge":       {fails(api.NotFound, 0), "GET", "/v1/repos/widgets", "", "", "", 404},
		"health, no ship's":      {nil, "GET", "/v1/healthz", "", "", "stranger", 401},
		"another method":         {nil, "PUT", "/v1/repos/widgets", "", "", "", 405},
		"another way to health":  {nil, "POST", "/v1/healthz", "", "", "none", 405},
		"a bad number":           {nil, "GET", "/v1/repos/widgets/issues/x", "", "", "", 400},
		"no target":              {nil, "GET", "/v1/repos/widgets/checks", "", "", "", 400},
		"no key":                 {nil, "POST", comments, "", ours, "", 400},
		"a conflict":             {fails(api.Conflict, 0), "POST", comments, key, ours, "", 409},
		"limited":                {fails(api.RateLimited, 30), "GET", "/v1/repos/widgets", "", "", "", 429},
		"limited and writing":    {fails(api.RateLimited, 30), "POST", comments, key, ours, "", 429},
		"a fault of ours":        {fails(api.Internal, 0), "GET", "/v1/repos/widgets", "", "", "", 500},
		"a panic": {
			func(f *fakeForge) { f.info = func(context.Context) (*api.RepoInfo, error) { panic("oh") } },
			"GET", "/v1/repos/widgets", "", "", "", 500,
		},
		"no forge":        {nil, "GET", "/v1/repos/local", "", "", "", 501},
		"no provider":     {nil, "GET", "/v1/repos/lab", "", "", "", 501},
		"no credential":   {nil, "GET", "/v1/repos/far", "", "", "", 503},
		"away":            {fails(api.Unavailable, 10), "POST", comments, key, ours, "", 503},
		"lost":            {func(f *fakeForge) { f.write = lostAfter(false) }, "POST", comments, key, ours, "", 504},
		"lost on purpose": {fails(api.OutcomeUnknown, 0), "POST", "/v1/repos/widgets/pulls/7/reviews", key, `{"event":"APPROVE"}`, "", 504},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeForge{}
				if c.forge != nil {
					c.forge(f)
				}
				b := openBench(t, "", f)
				reader, _ := b.grantShip(t, "reader", "widgets", api.VerbRead)
				ship := map[string]Secret{"": b.Local(), "reader": reader, "stranger": mintShipCredential()}[c.ship]
				w := k.send(t, b.Handler(), ship, c.method, c.target, c.key, c.body)
				var p api.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != c.status || p.Status != c.status {
					t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
				}
				if retry := w.Header().Get("Retry-After"); (retry != "") != (p.RetryAfterSeconds > 0) {
					t.Errorf("Retry-After: %q beside %s", retry, w.Body)
				}
			})
		})
	}
}

func TestAnAnswerOtherThanDescribedIsSeen(t *testing.T) {
	k := loadContract(t)
	f := &wordyForge{}
	b := openBench(t, "", &f.fakeForge, f.provider)
	info := httptest.NewRequest("GET", "/v1/repos/widgets", nil)
	checks := httptest.NewRequest("GET", "/v1/repos/widgets/checks?branch=main", nil)
	cases := map[string]struct {
		r        *http.Request
		ship     Secret
		old, now string // in the body
		header   string // left out
	}{
		"as it is":           {info, b.Local(), "", "", ""},
		"a member too few":   {info, b.Local(), `"forge":"github",`, ``, ""},
		"a member too many":  {info, b.Local(), `{`, `{"token":"x",`, ""},
		"another type":       {info, b.Local(), `"archived":true`, `"archived":"yes"`, ""},
		"null":               {checks, b.Local(), `"counts":{"fail":1,"pass":2}`, `"counts":null`, ""},
		"no time":            {info, b.Local(), `2026-03-04T12:00:00Z`, `yesterday`, ""},
		"another word":       {info, b.Local(), `"internal"`, `"secret"`, ""},
		"deeper":             {checks, b.Local(), `"has_log":true`, `"has_log":1`, ""},
		"another bucket":     {checks, b.Local(), `{"fail":1,`, `{"none":1,`, ""},
		"no request's id":    {info, b.Local(), "", "", api.HeaderRequestID},
		"kept by others":     {info, b.Local(), "", "", "Cache-Control"},
		"no type":            {info, b.Local(), "", "", "Content-Type"},
		"another code":       {info, Secret{}, `"unauthenticated"`, `"go_away"`, ""},
		"a problem cut down": {info, Secret{}, `"detail"`, `"details"`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := c.r.Clone(t.Context())
			r.Header.Set("Authorization", "Bearer "+c.ship.Reveal())
			w := httptest.NewRecorder()
			b.Handler().ServeHTTP(w, r)
			body := strings.Replace(w.Body.String(), c.old, c.now, 1)
			w.Header().Del(c.header)
			changed := body != w.Body.String() || c.header != ""
			if err := k.answer(r, w.Code, w.Header(), body); (err != nil) != changed {
				t.Errorf("%s\nis taken for what it is not: %v", body, err)
			}
		})
	}
}
