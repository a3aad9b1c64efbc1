package github

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/bridge"
)

func TestRefusalsHaveCodeReasonAndNextStep(t *testing.T) {
	soon := strconv.FormatInt(time.Now().Add(90*time.Second).Unix(), 10)
	cases := map[string]struct {
		status  int
		body    string
		headers []string
		code    api.Code
		reason  string
		says    string // in message or hint
		retry   bool
	}{
		"primary limit":                 {403, `{"message":"API rate limit exceeded for user"}`, []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Limit: 5000", "X-RateLimit-Reset: " + soon}, api.RateLimited, "primary", "wait", true},
		"secondary, by link":            {403, `{"message":"slow down","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`, nil, api.RateLimited, "secondary", "wait", true},
		"secondary, by header":          {403, `{"message":"slow down"}`, []string{"Retry-After: 7"}, api.RateLimited, "secondary", "wait", true},
		"secondary, by words alone":     {403, `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes"}`, nil, api.RateLimited, "secondary", "wait", true},
		"429":                           {429, `{"message":"x"}`, []string{"Retry-After: 7"}, api.RateLimited, "secondary", "wait", true},
		"bad credential":                {401, `{"message":"Bad credentials"}`, nil, api.Unauthenticated, "credential_invalid", "operator", false},
		"permission":                    {403, `{"message":"Resource not accessible by integration"}`, []string{"X-Accepted-GitHub-Permissions: issues=read; pull_requests=read"}, api.Forbidden, "permission", "issues:read or pull_requests:read", false},
		"single sign-on":                {403, `{"message":"Resource not shown"}`, []string{"X-GitHub-SSO: required; url=https://github.com/orgs/acme/sso?authorization_request=SECRET"}, api.Forbidden, "sso_required", "single sign-on", false},
		"archived":                      {403, `{"message":"Repository was archived so is read-only."}`, nil, api.Forbidden, "repo_archived", "archived", false},
		"locked":                        {403, `{"message":"Unable to create comment because issue is locked."}`, nil, api.Forbidden, "locked", "locked", false},
		"blocked":                       {403, `{"message":"User is blocked"}`, nil, api.Forbidden, "blocked", "blocked", false},
		"issues switched off":           {410, `{"message":"Issues are disabled for this repo"}`, nil, api.Unsupported, "feature_disabled", "switched off", false},
		"deleted":                       {410, `{"message":"This issue was deleted"}`, nil, api.NotFound, "gone", "deleted", false},
		"missing":                       {404, `{"message":"Not Found"}`, nil, api.NotFound, "no_such_issue", "repo_issue_list", false},
		"legal":                         {451, `{"message":"Repository access blocked"}`, nil, api.Forbidden, "legal", "legal", false},
		"page of a proxy":               {502, `<html><body>Bad Gateway</body></html>`, nil, api.Unavailable, "forge_unavailable", "502", true},
		"half an answer":                {200, `{"number":7,"tit`, nil, api.Unavailable, "bad_answer", "understood", false},
		"still computing":               {202, `{}`, nil, api.Unavailable, "computing", "seconds", true},
		"a 403 that says nothing known": {403, `{"message":"No. See https://x.example/a?sig=abcdefgh1234 and \u001b[31mghp_abcdefghijklmnopqrstuvwxyz0123456789\u001b[0m"}`, nil, api.Forbidden, "forge_refused", "https://x.example/a and [masked]", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, p := newForge(t)
			f.refuse("GET", "issues/7", c.status, c.body, c.headers...)
			_, err := p.Issue(t.Context(), f.repo, 7, "")
			e := refusedWith(t, err, c.code, c.reason)
			if !strings.Contains(e.Message+" "+e.Hint, c.says) {
				t.Errorf("says %q and %q, want %q", e.Message, e.Hint, c.says)
			}
			if (e.RetryAfterSeconds > 0) != c.retry || e.RetryAfterSeconds > 120 {
				t.Errorf("retry after %d seconds", e.RetryAfterSeconds)
			}
			if text := e.Text() + e.Err.Error(); strings.Contains(text, "SECRET") || strings.Contains(text, "ghp_") || strings.Contains(text, "sig=") || strings.Contains(text, "<html") {
				t.Errorf("the error shows what it must not: %s", text)
			}
		})
	}
}

func TestLimitThatOnlyWordsTellStopsTheNextRequest(t *testing.T) {
	f, p := newForge(t)
	f.refuse("GET", "issues/7", 403, `{"message":"You have exceeded a secondary rate limit"}`)
	for range 2 {
		if _, err := p.Issue(t.Context(), f.repo, 7, ""); !hasCode(err, api.RateLimited) {
			t.Fatalf("got %v", err)
		}
	}
	if n := f.count("GET"); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestInvisibleRepositoryIsNotAMissingIssue(t *testing.T) {
	f, p := newForge(t)
	f.refuse("GET", "", 404, `{"message":"Not Found"}`)
	_, err := p.Issue(t.Context(), f.repo, 7, "")
	e := refusedWith(t, err, api.NotFound, "repo_not_visible")
	if !strings.Contains(e.Hint, "operator") {
		t.Errorf("hint %q", e.Hint)
	}
	_, err = p.Pulls(t.Context(), f.repo, "", "")
	refusedWith(t, err, api.NotFound, "repo_not_visible")
}

func TestLongForgeTextIsCutInErrors(t *testing.T) {
	f, p := newForge(t)
	f.refuse("POST", "issues/7/comments", 422, encoded(t, object{"message": "Validation Failed", "errors": []any{strings.Repeat("words ", 500), object{"field": "body", "code": "invalid"}}}))
	_, err := p.Write(t.Context(), f.repo, bridge.Write{Kind: bridge.IssueComment, Number: 7, Body: "x"})
	e := refusedWith(t, err, api.Invalid, "forge_invalid")
	if len(e.Message) > maxQuote+100 || !strings.Contains(e.Message, "Validation Failed") {
		t.Errorf("message of %d bytes: %s", len(e.Message), e.Message)
	}
}
