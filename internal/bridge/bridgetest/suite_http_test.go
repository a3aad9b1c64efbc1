package bridgetest_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// overHTTP has the scene's ship come by the handler and the client, as one on another host does.
func (s *scene) overHTTP() *scene {
	s.Helper()
	server := httptest.NewServer(s.broker.Handler())
	s.Cleanup(server.Close)
	file := filepath.Join(tempDir(s.T), "ship-credential")
	if err := os.WriteFile(file, []byte(s.broker.Local().Reveal()), 0o600); err != nil {
		s.Fatal(err)
	}
	caller, err := bridge.NewClient(bridge.ClientConfig{URL: server.URL, CredentialFile: file})
	if err != nil {
		s.Fatal(err)
	}
	other := *s
	other.caller = caller
	return &other
}

// TestBothWaysToTheForgeAreOne asks the forge for everything in process and over HTTP.
func TestBothWaysToTheForgeAreOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	i := s.repo.Issue("Crash <b> & \"q\"").Body("it \u2764\ufe0f crashes")
	i.Comment("bob", "me too")
	p := s.repo.Pull("Fix").From("feature/x#1")
	p.Review("bob", bridgetest.ChangesRequested, "no")
	p.LineComment("bob", "a.go", 3, "why?")
	s.repo.Run("CI", p.Head()).Job("test").Fails("Run it", "##[error]boom")
	far := s.overHTTP()
	for name, r := range map[string]bridge.Request{
		"info":               info,
		"issues":             {Op: bridge.OpIssueList, State: "all"},
		"pulls":              pulls,
		"issue":              viewOf(bridge.OpIssueView, i.Number()),
		"pull":               viewOf(bridge.OpPRView, p.Number()),
		"checks":             checksOf(p.Number()),
		"checks of a ref":    {Op: bridge.OpChecks, Target: api.Target{Ref: "feature/x#1"}},
		"checks of a branch": {Op: bridge.OpChecks, Target: api.Target{Branch: "feature/x#1", SHA: p.Head()}},
		"failed logs":        logsOf(p.Number()),
		"no such issue":      viewOf(bridge.OpIssueView, 99),
		"no such repository": {Op: bridge.OpInfo, Repo: "nothing"},
		"two targets":        {Op: bridge.OpChecks, Target: api.Target{Pull: 1, Ref: "main"}},
		"an odd ref":         {Op: bridge.OpChecks, Target: api.Target{Ref: "../../x"}},
		"a bad number":       viewOf(bridge.OpIssueView, 0),
	} {
		near, nearErr := s.do(r)
		over, overErr := far.do(r)
		if string(near) != string(over) {
			t.Errorf("%s: in process\n%s\nover HTTP\n%s", name, near, over)
		}
		if (nearErr == nil) != (overErr == nil) || nearErr != nil && (nearErr.Text() != overErr.Text() || nearErr.Reason != overErr.Reason) {
			t.Errorf("%s: in process %v, over HTTP %v", name, nearErr, overErr)
		}
	}
	w := get[api.Written](far, comment(i.Number(), "from afar"))
	if again := get[api.Written](s, comment(i.Number(), "from afar")); again.DuplicateOf != w.URL {
		t.Errorf("the same words in process = %+v, want a duplicate of %s", again, w.URL)
	}
	if w := get[api.Written](far, review(p.Number(), "APPROVE", "")); w.State != bridgetest.Approved {
		t.Errorf("the review = %+v", w)
	}
}

func TestFaultsOfTheForgeCrossHTTPWhole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	i := s.repo.Issue("Crash")
	far := s.overHTTP()
	far.refused(review(i.Number(), "APPROVE", ""), api.NotFound, "no_such_pull")
	s.gh.When("POST", postedComments).Times(1).CutAfter(50)
	r := comment(i.Number(), "hello")
	r.Key = uuid.Must(uuid.NewV7()).String()
	first, again := get[api.Written](far, r), get[api.Written](far, r)
	if first != again || len(i.Texts()) != 1 {
		t.Errorf("answers %+v and %+v, comments %q; want one", first, again, i.Texts())
	}
	s.gh.LimitRate(bridgetest.TooManyRequests)
	wait(far, far.refused(issues, api.RateLimited, "secondary", "Next:"), 85, 90)
	s.gh.LimitRate(bridgetest.NoLimit)
	raw, e := far.do(info)
	if e == nil || e.Code != api.RateLimited {
		t.Errorf("while the limit lasts: %s, %v", raw, e)
	}
}

func TestAShipWithoutTheRightVerbReachesNoForge(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	i := s.repo.Issue("Crash")
	if err := s.broker.Close(); err != nil {
		t.Fatal(err)
	}
	admin, err := bridge.OpenAdmin(t.Context(), bridge.AdminConfig{Dir: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	granted, err := admin.Grant(t.Context(), api.GrantRequest{Ship: "reader", Repo: "widgets", Verbs: []string{api.VerbRead}})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Close(); err != nil {
		t.Fatal(err)
	}
	s.broker = nil
	s.open(s.gh.Token())
	s.caller = s.broker.As(bridge.NewSecret(granted.Credential))
	get[issueList](s, issues)
	asked := len(s.gh.Requests())
	s.refused(comment(i.Number(), "hello"), api.Forbidden, "verb_not_granted", "ship bridge grant reader", "comment")
	s.refused(review(i.Number(), "APPROVE", ""), api.Forbidden, "verb_not_granted", "review")
	unbound := s.refused(bridge.Request{Op: bridge.OpInfo, Repo: "gadgets"}, api.NotFound, "no_repo", "ask a human")
	if n := len(s.gh.Requests()); n != asked || len(i.Texts()) != 0 {
		t.Errorf("the forge was asked %d times more", n-asked)
	}
	missing := s.refused(bridge.Request{Op: bridge.OpInfo, Repo: "nothing"}, api.NotFound, "no_repo")
	if got := strings.ReplaceAll(missing.Text(), "nothing", "gadgets"); got != unbound.Text() {
		t.Errorf("an unbound repository is %q, a missing one %q", unbound.Text(), got)
	}
	s.gh.Repo("acme/gadgets")
	s.caller = s.broker.As(s.broker.Local())
	get[api.RepoInfo](s, bridge.Request{Op: bridge.OpInfo, Repo: "gadgets"})
}
