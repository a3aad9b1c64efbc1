package bridgetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

func TestRepositoriesThatMove(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"after a rename, reads and writes go on, and a write lands once": func(s *scene) {
			p := s.repo.Pull("Fix")
			get[api.RepoInfo](s, info)
			s.repo.Rename("acme/gadgets")
			if l := get[pullList](s, pulls); len(l.Items) != 1 {
				s.Errorf("pulls = %+v", l)
			}
			get[api.Written](s, pullComment(p.Number(), "hello"))
			get[api.Written](s, review(p.Number(), "APPROVE", ""))
			if got := p.Issue().Texts(); len(got) != 1 || len(p.Reviews()) != 1 {
				s.Errorf("comments %q, reviews %q", got, p.Reviews())
			}
		},
		"a bridge that never saw the repository before its rename learns its number first": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.repo.Rename("acme/gadgets")
			get[api.Written](s, comment(i.Number(), "hello"))
			if got := i.Texts(); len(got) != 1 {
				s.Errorf("comments %q", got)
			}
		},
		"a transfer to another owner is a rename": func(s *scene) {
			s.repo.Issue("Crash")
			get[api.RepoInfo](s, info)
			s.repo.Rename("elsewhere/widgets")
			if l := get[issueList](s, issues); len(l.Items) != 1 {
				s.Errorf("issues = %+v", l)
			}
		},
		"a long list goes on across a rename": func(s *scene) {
			for n := range 150 {
				s.repo.Issue(fmt.Sprint("issue ", n))
			}
			first := get[issueList](s, issues)
			s.repo.Rename("acme/gadgets")
			r := issues
			r.Cursor = first.NextCursor
			if l := get[issueList](s, r); len(l.Items) != 50 || l.NextCursor != "" {
				s.Errorf("the second page has %d items, next %q; want 50 and the end", len(l.Items), l.NextCursor)
			}
		},
	})
}

func TestNothingReachesAnotherRepositoryThatTakesTheName(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"reads notice it": func(s *scene) {
			get[api.RepoInfo](s, info)
			s.repo.Rename("acme/gadgets")
			s.gh.Repo("acme/widgets")
			s.refused(viewOf(bridge.OpIssueView, 99), api.Conflict, "repo_replaced", "operator")
		},
		"nothing is written to it": func(s *scene) {
			get[api.RepoInfo](s, info)
			s.repo.Rename("acme/gadgets")
			stranger := s.gh.Repo("acme/widgets")
			i, p := stranger.Issue("a trap"), stranger.Pull("another")
			s.refused(comment(i.Number(), "for us alone"), api.Conflict, "repo_replaced", "operator")
			s.refused(pullComment(p.Number(), "for us alone"), api.Conflict, "repo_replaced", "operator")
			s.refused(review(p.Number(), "APPROVE", ""), api.Conflict, "repo_replaced", "operator")
			if n := s.gh.Count("POST", ""); n != 0 || len(i.Texts())+len(p.Issue().Texts())+len(p.Reviews()) != 0 {
				s.Errorf("%d writes were sent to the stranger", n)
			}
		},
		"a name that is taken over while the bridge is down is noticed": func(s *scene) {
			get[api.RepoInfo](s, info)
			s.repo.Rename("acme/gadgets")
			i := s.gh.Repo("acme/widgets").Issue("a trap")
			s.openWith(s.config)
			s.refused(viewOf(bridge.OpIssueView, i.Number()), api.Conflict, "repo_replaced", "ship repo remove")
			s.refused(comment(i.Number(), "for us alone"), api.Conflict, "repo_replaced", "ship repo remove")
			if n := len(i.Texts()); n != 0 {
				s.Errorf("%d comments on the stranger's issue", n)
			}
		},
		"a repository that is registered anew is the one that has the name now": func(s *scene) {
			get[api.RepoInfo](s, info)
			s.repo.Rename("acme/gadgets")
			i := s.gh.Repo("acme/widgets").Issue("ours by now")
			c, registry := s.config, s.config.Registry()
			c.Registry = func() map[string]bridge.Registered { return registry }
			s.openWith(c)
			s.refused(comment(i.Number(), "hello"), api.Conflict, "repo_replaced", "ship repo remove")
			s.broker.Reregister() // for another repository's sake
			s.refused(comment(i.Number(), "hello"), api.Conflict, "repo_replaced", "ship repo remove")
			all := registry
			registry = map[string]bridge.Registered{}
			s.broker.Reregister()
			registry = all
			s.broker.Reregister()
			get[api.Written](s, comment(i.Number(), "hello"))
		},
		"a write lands where it was meant to though the name is taken over meanwhile": func(s *scene) {
			i, p := s.repo.Issue("Crash"), s.repo.Pull("Fix")
			for n, r := range []bridge.Request{comment(i.Number(), "for us alone"), pullComment(p.Number(), "and this"), review(p.Number(), "APPROVE", "")} {
				if got := s.addressOfWrite(r); !strings.HasPrefix(got, fmt.Sprint("/repositories/", s.repo.ID(), "/")) {
					s.Errorf("write %d went to %s, want it to go by the repository's number", n, got)
				}
			}
		},
	})
}

// TestRedirectsLeadNowhereElse: whatever the forge redirects to, no request and no credential goes
// to another host, and nothing is done to another repository.
func TestRedirectsLeadNowhereElse(t *testing.T) {
	other := bridgetest.NewGitHub(t)
	other.Repo("acme/widgets").Issue("a trap")
	s := newScene(t)
	secret := s.gh.Repo("acme/secret").Private()
	secret.Issue("hidden treasure")
	i := s.repo.Issue("Crash")
	get[api.RepoInfo](s, info)
	host := strings.TrimPrefix(s.gh.URL(), "http://")
	locations := map[string]string{
		"another host":                  other.URL() + "/repos/acme/widgets/issues/1/comments",
		"another host, and the number":  other.URL() + "/repositories/" + fmt.Sprint(s.repo.ID()) + "/REST",
		"another port of the same name": "http://localhost:1/repositories/" + fmt.Sprint(s.repo.ID()) + "/REST",
		"the same under https":          "https://" + host + "/repositories/" + fmt.Sprint(s.repo.ID()) + "/REST",
		"another host, by its name":     strings.Replace(other.URL(), "127.0.0.1", "localhost", 1) + "/repos/acme/widgets/issues/1/comments",
		"the same host under https":     "https://" + host + "/repos/acme/widgets/issues/1/comments",
		"a user in front of the host":   "http://" + host + "@" + strings.TrimPrefix(other.URL(), "http://") + "/repos/acme/widgets/issues/1/comments",
		"no scheme":                     "//" + strings.TrimPrefix(other.URL(), "http://") + "/repos/acme/widgets/issues/1/comments",
		"another repository":            s.gh.URL() + "/repositories/" + fmt.Sprint(secret.ID()) + "/issues/1/comments",
		"another repository, by name":   s.gh.URL() + "/repos/acme/secret/issues/1/comments",
		"another repository, climbing":  s.gh.URL() + "/repos/acme/widgets/../secret/issues/1/comments",
		"another repository, escaped":   s.gh.URL() + "/repos/acme/widgets/%2e%2e/secret/issues/1/comments",
		"something that is no repo":     s.gh.URL() + "/user",
		"nowhere":                       "",
		"an address that is none":       "http://[::1",
		"a file":                        "file:///etc/passwd",
		"an address of the log's host":  s.gh.LogURL() + "/actions-results/1/job.txt",
		"itself":                        s.gh.URL() + "/repos/acme/widgets/issues/1/comments",
		"the metadata of a cloud":       "http://169.254.169.254/latest/meta-data",
		"the same, but another address": s.gh.URL() + "/repositories/" + fmt.Sprint(s.repo.ID()) + "/issues",
	}
	for name, location := range locations {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for method, r := range map[string]bridge.Request{"GET": viewOf(bridge.OpIssueView, i.Number()), "POST": comment(i.Number(), name+fmt.Sprint(status))} {
				below := fmt.Sprint("issues/", i.Number())
				if method == "POST" {
					below += "/comments"
				}
				rule := s.gh.When(method, "/repos/acme/widgets/"+below)
				rule.Redirect(status, strings.Replace(location, "REST", below, 1))
				if method == "POST" && (status == http.StatusFound || status == http.StatusSeeOther) {
					rule.End() // unclear, and looked for: see below
					continue
				}
				raw, e := s.do(r)
				rule.End()
				if e == nil {
					t.Errorf("%s: %s redirected with %d was answered %s", name, method, status, raw)
				} else if strings.Contains(e.Text(), location) && location != "" {
					t.Errorf("%s: %q quotes the address", name, e.Text())
				}
			}
		}
	}
	if got := len(other.Requests()) + len(s.gh.LogRequests()); got != 0 {
		t.Errorf("other hosts got %d requests: %+v", got, other.Requests())
	}
	for _, r := range s.gh.Requests() {
		if strings.Contains(r.Path, "secret") || strings.Contains(r.Path, fmt.Sprint("/repositories/", secret.ID())) || r.Path == "/user" {
			t.Errorf("the forge got %s %s", r.Method, r.Path)
		}
	}
	if got := i.Texts(); len(got) != 0 {
		t.Errorf("comments %q", got)
	}
	s.healthy()
}

func oldRedirect(s *scene, status int) {
	i := s.repo.Issue("Crash")
	get[api.RepoInfo](s, info)
	s.gh.When("POST", postedComments).Times(1).Redirect(status, s.gh.URL()+"/repos/acme/widgets/issues/1/comments")
	s.refused(comment(i.Number(), "hello"), api.OutcomeUnknown, "write_outcome_unknown")
	if n := s.gh.Count("POST", "/comments"); n != 1 {
		s.Errorf("sent %d times, want once", n)
	}
}

// addressOfWrite does r, and gives where its POST went.
func (s *scene) addressOfWrite(r bridge.Request) string {
	get[api.Written](s, r)
	requests := s.gh.Requests()
	for n := len(requests) - 1; n >= 0; n-- {
		if requests[n].Method == http.MethodPost {
			return requests[n].Path
		}
	}
	return ""
}
