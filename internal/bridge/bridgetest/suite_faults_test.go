package bridgetest_test

import (
	"strings"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

var info = bridge.Request{Op: bridge.OpInfo}

func TestWhatTheForgeRefuses(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a bad credential is the operator's to renew, and a new one is taken at once": func(s *scene) {
			s.with(s.gh.NewToken("other"))
			i := s.repo.Issue("Crash")
			bad := s.gh.NewToken("gone")
			bad.Revoke()
			s.with(bad)
			s.refused(info, api.Unauthenticated, "credential_invalid", "operator", "ship credential add")
			s.refused(comment(i.Number(), "hello"), api.Unauthenticated, "credential_invalid")
			if len(i.Texts()) != 0 {
				s.Error("a comment was posted")
			}
			s.open(s.gh.Token())
			s.healthy()
		},
		"a missing permission is named: for issues": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.with(s.gh.FineGrained("ann", "issues:read"))
			get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			s.refused(comment(i.Number(), "hello"), api.Forbidden, "permission", "issues:write", "operator")
		},
		"a missing permission is named: a pull request's conversation asks for pull_requests": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.with(s.gh.FineGrained("ann", "issues:write", "pull_requests:read"))
			s.refused(pullComment(p.Number(), "hello"), api.Forbidden, "permission", "pull_requests:write")
			s.refused(review(p.Number(), "COMMENT", "hello"), api.Forbidden, "permission", "pull_requests:write")
		},
		"a missing permission is named: for reading, and the rest goes on": func(s *scene) {
			s.repo.Issue("Crash")
			s.with(s.gh.FineGrained("ann", "contents:read"))
			s.refused(issues, api.Forbidden, "permission", "issues:read")
			get[api.RepoInfo](s, info)
		},
		"single sign-on is for the operator to grant": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.RequireSSO("acme")
			e := s.refused(info, api.Forbidden, "sso_required", "single sign-on", "operator")
			s.refused(comment(i.Number(), "hello"), api.Forbidden, "sso_required")
			if strings.Contains(e.Text(), "authorization_request") {
				s.Errorf("%q has the address of the request", e.Text())
			}
			s.gh.RequireSSO("")
			s.healthy()
		},
		"a repository that the forge withholds for legal reasons": func(s *scene) {
			s.repo.Withhold()
			s.refused(issues, api.Forbidden, "legal")
		},
		"a repository that is not shown is not a missing number": func(s *scene) {
			s.repo.Private("ann")
			for _, r := range []bridge.Request{info, issues, pulls, viewOf(bridge.OpIssueView, 1), viewOf(bridge.OpPRView, 1), checksOf(1)} {
				s.refused(r, api.NotFound, "repo_not_visible", "operator")
			}
			s.refused(comment(1, "hello"), api.NotFound, "repo_not_visible")
		},
	})
}

func TestAForgeThatFails(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a page of HTML with 502 is a forge that is away, quoted nowhere": func(s *scene) {
			rule := s.gh.When("GET", "")
			rule.Page(502)
			e := s.refused(issues, api.Unavailable, "forge_unavailable", "502", "Retry after", "try again")
			if strings.Contains(e.Text()+s.log.String(), "Unicorn") {
				s.Errorf("the page is quoted: %q", e.Text())
			}
			rule.End()
			s.healthy()
		},
		"half a JSON is no answer": func(s *scene) {
			s.repo.Issue("Crash")
			s.gh.When("GET", "/repos/acme/widgets/issues").Times(1).HalfJSON()
			s.refused(issues, api.Unavailable, "bad_answer", "try again")
			get[issueList](s, issues)
			s.healthy()
		},
		"a broken connection is no answer": func(s *scene) {
			s.gh.When("GET", "/repos/acme/widgets").Times(1).ResetAfter(400)
			s.refused(info, api.Unavailable, "connection_broken", "try again")
			get[api.RepoInfo](s, info)
		},
		"a slow body comes, however slowly": func(s *scene) {
			s.repo.Issue("Crash")
			s.gh.When("GET", "/repos/acme/widgets/issues").Times(1).Slow(200, 5*time.Millisecond)
			if l := get[issueList](s, issues); len(l.Items) != 1 {
				s.Errorf("issues = %+v", l)
			}
		},
		"an answer without end is cut off": func(s *scene) {
			s.gh.When("GET", "/repos/acme/widgets/issues").Times(1).Answer(200, nil, "["+strings.Repeat(" ", 9<<20)+"]")
			s.refused(issues, api.Unavailable, "answer_too_large")
			s.healthy()
		},
		"what the forge says is quoted without the secrets in it": func(s *scene) {
			secret := "ghp_" + strings.Repeat("a1B2", 9)
			s.gh.When("POST", postedComments).Answer(422, nil, `{"message":"no \u001b[31m`+secret+` at https://bob:pw@h.example/x?sig=abcdef123456 `+strings.Repeat("long ", 500)+`"}`)
			i := s.repo.Issue("Crash")
			_, e := s.do(comment(i.Number(), "hello"))
			if e == nil || e.Code != api.Invalid || strings.Contains(e.Text(), secret) || strings.Contains(e.Text(), "abcdef123456") ||
				strings.Contains(e.Text(), "\x1b") || len(e.Text()) > 800 {
				s.Errorf("the refusal reads %v", e)
			}
			if strings.Contains(s.log.String(), secret) || strings.Contains(s.log.String(), "abcdef123456") {
				s.Errorf("the log has it:\n%s", s.log)
			}
		},
		"an accepted that is not done yet is not a failure of the forge": func(s *scene) {
			s.gh.When("GET", "/repos/acme/widgets/issues").Times(1).Answer(202, nil, `{"message":"computing"}`)
			s.refused(issues, api.Unavailable, "computing", "try again")
		},
	})
}

// wait is the time that a limit names, give or take.
func wait(s *scene, e *api.Error, least, most int) {
	s.Helper()
	if e.RetryAfterSeconds < least || e.RetryAfterSeconds > most || !strings.Contains(e.Text(), "Retry after ") {
		s.Errorf("retry after %d seconds, want %d to %d: %q", e.RetryAfterSeconds, least, most, e.Text())
	}
}

func TestRateLimits(t *testing.T) {
	limit := func(l bridgetest.Limit, least, most int) func(*scene) {
		return func(s *scene) {
			i := s.repo.Issue("Crash")
			get[api.RepoInfo](s, info)
			s.gh.LimitRate(l)
			wait(s, s.refused(issues, api.RateLimited, limitReason(l), "Next:"), least, most)
			asked := len(s.gh.Requests())
			e := s.refused(comment(i.Number(), "hello"), api.RateLimited, "quota")
			wait(s, e, least, most)
			if n := len(s.gh.Requests()); n != asked || len(i.Texts()) != 0 {
				s.Errorf("the forge was asked %d times more while it limits the rate", n-asked)
			}
			get[api.RepoInfo](s, info) // from the cache
		}
	}
	cases(t, map[string]func(s *scene){
		"the primary one, with its headers":                        limit(bridgetest.PrimaryLimit, 80, 91),
		"a secondary one with Retry-After":                         limit(bridgetest.SecondaryRetryAfter, 85, 90),
		"a secondary one in words alone: a minute":                 limit(bridgetest.SecondaryWords, 55, 60),
		"429 with nothing but Retry-After":                         limit(bridgetest.TooManyRequests, 85, 90),
		"in GraphQL, with 200: the view comes without what it had": graphQLLimit,
		"a write is limited before anything is posted, and says when": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.LimitRate(bridgetest.SecondaryRetryAfter)
			asked := len(s.gh.Requests())
			wait(s, s.refused(comment(i.Number(), "hello"), api.RateLimited, "secondary"), 85, 90)
			if n := len(s.gh.Requests()) - asked; n != 1 || len(i.Texts()) != 0 {
				s.Errorf("the forge was asked %d times, want once; comments %q", n, i.Texts())
			}
		},
		"what is left is kept for writes": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.SetQuota(5000, 900)
			get[api.RepoInfo](s, info)
			wait(s, s.refused(issues, api.RateLimited, "quota", "kept for comments"), 3000, 3601)
			get[api.Written](s, comment(i.Number(), "hello"))
		},
		"an answer that was read before is served while the limit lasts": func(s *scene) {
			s.repo.Issue("Crash")
			get[issueList](s, issues)
			other := issues
			other.State = "all"
			s.gh.LimitRate(bridgetest.SecondaryRetryAfter)
			s.refused(other, api.RateLimited, "secondary")
			if l := get[issueList](s, issues); len(l.Items) != 1 {
				s.Errorf("issues = %+v", l)
			}
		},
		"asking again costs nothing where nothing has changed": func(s *scene) {
			s.repo.Pull("Fix")
			i := s.repo.Issue("unrelated")
			get[pullList](s, pulls)
			get[api.Written](s, comment(i.Number(), "has the bridge ask for its lists again"))
			before, asked := s.gh.Used(), s.gh.Count("GET", "/pulls")
			get[pullList](s, pulls)
			if used, n := s.gh.Used()-before, s.gh.Count("GET", "/pulls")-asked; used != 0 || n != 1 {
				s.Errorf("the same list again was asked for %d times and cost %d, want once and nothing", n, used)
			}
		},
	})
}

func limitReason(l bridgetest.Limit) string {
	if l == bridgetest.PrimaryLimit {
		return "primary"
	}
	return "secondary"
}

func graphQLLimit(s *scene) {
	p := s.repo.Pull("Fix")
	p.LineComment("bob", "a.go", 3, "remark")
	s.gh.LimitRate(bridgetest.GraphQLLimit)
	v := get[api.PullView](s, viewOf(bridge.OpPRView, p.Number()))
	if len(v.Comments) != 1 || v.Comments[0].Resolved != nil || len(v.Incomplete) != 1 || !strings.Contains(v.Incomplete[0], "resolved") {
		s.Errorf("comments %+v, incomplete %q", v.Comments, v.Incomplete)
	}
	s.healthy()
}
