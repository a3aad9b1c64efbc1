package bridgetest_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/bridge/bridgetest"
)

const postedComments = "/repos/acme/widgets/issues/*/comments"

// TestAWritesAnswerCutAnywhereIsPostedOnceAndSaidToBe cuts the forge's answer to a comment after
// each number of its bytes, of the head and of the body, by an orderly end and by a reset in turn. The
// answer is a small one; of a usual one, not every byte is tried.
func TestAWritesAnswerCutAnywhereIsPostedOnceAndSaidToBe(t *testing.T) {
	t.Parallel()
	small := func(r *bridgetest.Rule) *bridgetest.Rule { return r.Small() }
	usual := func(r *bridgetest.Rule) *bridgetest.Rule { return r }
	cutEverywhere(t, "small", small, answerLength(newScene(t), small), 1)
	cutEverywhere(t, "usual", usual, answerLength(newScene(t), usual), 61)
}

func cutEverywhere(t *testing.T, name string, kind func(*bridgetest.Rule) *bridgetest.Rule, length, step int) {
	const cuts = 25 // for one bridge
	for from := 0; from <= length; from += cuts * step {
		t.Run(fmt.Sprint(name, " from ", from), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for n := from; n < from+cuts*step && n <= length && !t.Failed(); n += step {
				cutAfter(s, kind(s.gh.When("POST", postedComments).Times(1)), n)
			}
			s.healthy()
		})
	}
}

func cutAfter(s *scene, rule *bridgetest.Rule, n int) {
	s.Helper()
	i := s.repo.Issue("an issue")
	if n%2 == 0 {
		rule.CutAfter(n)
	} else {
		rule.ResetAfter(n)
	}
	raw, e := s.do(comment(i.Number(), "hello"))
	if got := i.Texts(); len(got) != 1 {
		s.Errorf("cut after %d bytes: %d comments were posted, want 1", n, len(got))
	}
	if e != nil || !strings.Contains(string(raw), "#issuecomment-") {
		s.Errorf("cut after %d bytes: answered %s, %v; want the comment", n, raw, e)
	}
}

// answerLength is how many bytes the forge's answer to a comment has.
func answerLength(s *scene, kind func(*bridgetest.Rule) *bridgetest.Rule) int {
	s.Helper()
	i := s.repo.Issue("how long")
	var length atomic.Int64
	kind(s.gh.When("POST", postedComments).Times(1)).Measure(&length)
	get[api.Written](s, comment(i.Number(), "hello"))
	if length.Load() < 300 {
		s.Fatalf("the forge's answer has %d bytes", length.Load())
	}
	s.Logf("the answer has %d bytes", length.Load())
	return int(length.Load())
}

func TestWritesThatBreak(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"answered 500, though it was stored": func(s *scene) { once(s, func(r *bridgetest.Rule) { r.FailAfter(500) }) },
		"answered with a page of HTML, though it was stored": func(s *scene) {
			once(s, func(r *bridgetest.Rule) { r.FailAfter(502) })
		},
		"the connection closed without an answer, though it was stored": func(s *scene) {
			once(s, func(r *bridgetest.Rule) { r.CutAfter(0) })
		},
		"half of a JSON answer, though it was stored": func(s *scene) { once(s, func(r *bridgetest.Rule) { r.HalfJSON() }) },
		"a slow answer": func(s *scene) { once(s, func(r *bridgetest.Rule) { r.Slow(300, 20*time.Millisecond) }) },
		"a review whose answer is lost": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.gh.When("POST", "/repos/acme/widgets/pulls/*/reviews").Times(1).ResetAfter(10)
			w := get[api.Written](s, review(p.Number(), "REQUEST_CHANGES", "no"))
			if got := p.Reviews(); len(got) != 1 || w.State != "CHANGES_REQUESTED" {
				s.Errorf("reviews = %q, answer %+v; want one", got, w)
			}
		},
		"the same key again, after the answer was lost, is answered with the comment": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.When("POST", postedComments).Times(1).CutAfter(0)
			r := comment(i.Number(), "hello")
			r.Key = uuid.Must(uuid.NewV7()).String()
			first, again := get[api.Written](s, r), get[api.Written](s, r)
			if first.ID != again.ID || len(i.Texts()) != 1 {
				s.Errorf("answers %+v and %+v, comments %q", first, again, i.Texts())
			}
		},
		"the connection refused: nothing was sent, and that is said": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.Close()
			s.refused(comment(i.Number(), "hello"), api.Unavailable, "unreachable", "nothing was sent")
		},
	})
}

// TestWritesThatStayUnclear: the forge is asked twice, some seconds apart, whether it has them.
func TestWritesThatStayUnclear(t *testing.T) {
	t.Parallel()
	waiting(t, map[string]func(s *scene){
		"answered with 302, which some send after they stored it": func(s *scene) { oldRedirect(s, 302) },
		"answered with 303, likewise":                             func(s *scene) { oldRedirect(s, 303) },
		"the connection closed before anything was stored: unclear, and never said to be posted": func(s *scene) {
			i := s.repo.Issue("Crash")
			rule := s.gh.When("POST", postedComments).Times(1)
			rule.DropBefore()
			e := s.refused(comment(i.Number(), "hello"), api.OutcomeUnknown, "write_outcome_unknown", "repo_issue_view", "exactly the same text")
			if got := i.Texts(); len(got) != 0 || rule.Hits() != 1 || s.gh.Count("POST", "/comments") != 1 || e.RetryAfterSeconds == 0 {
				s.Errorf("comments %q, sent %d times, retry after %d", got, s.gh.Count("POST", "/comments"), e.RetryAfterSeconds)
			}
			get[api.Written](s, comment(i.Number(), "other words"))
		},
		"a page of HTML before anything was stored: unclear, and sent once": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.When("POST", postedComments).Times(1).Page(502)
			s.refused(comment(i.Number(), "hello"), api.OutcomeUnknown, "write_outcome_unknown")
			if n := s.gh.Count("POST", "/comments"); n != 1 {
				s.Errorf("sent %d times, want once", n)
			}
			s.healthy()
		},
		"a forge that can't even be asked whether it was stored leaves it unclear": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.When("POST", postedComments).Times(1).CutAfter(0)
			s.gh.When("GET", postedComments).Page(503)
			s.refused(comment(i.Number(), "hello"), api.OutcomeUnknown, "write_outcome_unknown")
			if got := i.Texts(); len(got) != 1 || s.gh.Count("POST", "/comments") != 1 {
				s.Errorf("comments %q, sent %d times", got, s.gh.Count("POST", "/comments"))
			}
		},
		"a person's same words beside ours are not taken for ours": func(s *scene) {
			i := s.repo.Issue("Crash")
			i.Comment("bob", "hello").Now()
			s.gh.When("POST", postedComments).Times(1).DropBefore()
			s.refused(comment(i.Number(), "hello"), api.OutcomeUnknown, "write_outcome_unknown")
		},
	})
}

// once breaks the answer to a comment and expects that it is found.
func once(s *scene, breaks func(*bridgetest.Rule)) {
	s.Helper()
	i := s.repo.Issue("Crash")
	rule := s.gh.When("POST", postedComments).Times(1)
	breaks(rule)
	w := get[api.Written](s, comment(i.Number(), "hello"))
	if got := i.Texts(); len(got) != 1 || rule.Hits() != 1 || !strings.HasSuffix(w.URL, fmt.Sprint("#issuecomment-", w.ID)) {
		s.Errorf("comments %q, answer %+v; want one", got, w)
	}
	again := get[api.Written](s, comment(i.Number(), "hello"))
	if again.DuplicateOf != w.URL || s.gh.Count("POST", "/comments") != 1 {
		s.Errorf("the same words again: %+v, sent %d times in all", again, s.gh.Count("POST", "/comments"))
	}
	s.healthy()
}

func TestAPollOfThirtyAgentsCostsTheForgeOneQuestion(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := s.repo.Pull("Fix")
	s.repo.Run("CI", p.Head()).Job("test").Is("in_progress", "")
	var work sync.WaitGroup
	for n := range 30 {
		work.Go(func() {
			r := checksOf(p.Number())
			r.Workspace = fmt.Sprint("widgets/", n)
			if c := get[api.Checks](s, r); c.Overall != api.BucketPending {
				t.Errorf("agent %d: overall %q", n, c.Overall)
			}
		})
	}
	work.Wait()
	for _, end := range []string{"/check-runs", "/status", "/actions/runs", "/pulls/1"} {
		if n := s.gh.Count("GET", end); n != 1 {
			t.Errorf("%s was asked %d times, want once", end, n)
		}
	}
	if !strings.Contains(fmt.Sprint(s.gh.Requests()[0].Header), "Authorization") {
		t.Error("the requests were not signed, so that they count for nothing")
	}
}
