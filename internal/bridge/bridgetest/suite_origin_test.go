package bridgetest_test

import (
	"slices"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// trustedPull is a member's, from the repository's own branch "ours".
func (s *scene) trustedPull() *bridgetest.Pull { return s.repo.Pull("Fix").By("mia").From("ours") }

// outsidersRun sits on a commit, begun by event, and says what an outsider wrote.
func (s *scene) outsidersRun(sha, event string) *bridgetest.Run {
	n := s.repo.Run(planted, sha).On(event)
	n.Job(planted).Fails(planted, planted+"\n##[error]"+planted).Annotate(planted, 3, "failure", planted)
	return n
}

// targets are the ways to ask for the commit of trustedPull.
func targets(p *bridgetest.Pull) []api.Target {
	return []api.Target{{Pull: p.Number()}, {Ref: "ours"}, {Branch: "ours"}}
}

// An outsider's comment on a trusted pull request begins a run on a trusted commit, whose log says
// what is in the comment.
func TestARunThatOutsidersBeginOnATrustedCommitIsWithheld(t *testing.T) {
	stories := map[string]func(s *scene){}
	for _, event := range []string{
		"issue_comment", "issues", "pull_request_target", "workflow_run", "discussion", "discussion_comment", "fork", "watch", "gollum", "dynamic",
		"pull_request_review", "pull_request_review_comment", "pull_request_comment", "check_run", "check_suite", "status", "something_new", "", "PUSH",
	} {
		stories["begun by "+event] = func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run("CI", p.Head()).Job("unit").Fails("Run tests", "boom")
			s.outsidersRun(p.Head(), event)
			why := "by " + event + ", which people outside can"
			if event == "" || event == "PUSH" {
				why = "nobody can tell what began their run"
			}
			for _, target := range targets(p) {
				checks, logs := bridge.Request{Op: bridge.OpChecks, Target: target}, bridge.Request{Op: bridge.OpFailedLogs, Target: target}
				s.clean(checks, "withheld of 1 checks", why, next[:30], "ask a human", `"fail":2`, `"name":"unit"`)
				s.clean(logs, "withheld of 1 failures", "[withheld: name and log, since", why, "boom", `"names":["unit"]`)
				if l := get[api.FailedLogs](s, logs); len(l.Jobs) != 2 || l.Jobs[1].Conclusion != "failure" || !strings.Contains(l.Jobs[1].URL, "/actions/runs/") {
					s.Errorf("%+v: %+v", target, l)
				}
			}
		}
	}
	cases(t, stories)
}

func TestARunThatOnlyWritersBeginIsShown(t *testing.T) {
	stories := map[string]func(s *scene){}
	for _, event := range []string{
		"push", "create", "delete", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group", "release", "pull_request",
	} {
		stories["begun by "+event] = func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run("CI", p.Head()).On(event).Job("unit").Fails("Run tests", "boom")
			for _, target := range targets(p) {
				c := get[api.Checks](s, bridge.Request{Op: bridge.OpChecks, Target: target})
				l := get[api.FailedLogs](s, bridge.Request{Op: bridge.OpFailedLogs, Target: target})
				if c.Items[0].Name != "unit" || c.Withheld != "" || !strings.Contains(l.Jobs[0].Excerpt, "boom") || l.Withheld != "" {
					s.Errorf("%+v: %+v, %+v", target, c, l)
				}
			}
		}
	}
	cases(t, stories)
}

// Anybody may open a pull request of a commit that is there already, with a title of his own.
func TestAPullRequestsRunIsItsAuthorsWhoeverMadeTheCommit(t *testing.T) {
	both := func(s *scene, target api.Target, words ...string) {
		s.Helper()
		s.clean(bridge.Request{Op: bridge.OpChecks, Target: target}, words...)
		s.clean(bridge.Request{Op: bridge.OpFailedLogs, Target: target}, words...)
	}
	cases(t, map[string]func(s *scene){
		"an outsider's from a fork, on a trusted pull request's commit": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Pull(planted).By("mallory").Fork("mallory").At(p.Head())
			s.outsidersRun(p.Head(), "pull_request")
			for _, target := range targets(p) {
				both(s, target, "nobody can tell whose pull request began their run")
			}
			both(s, api.Target{Ref: "ours"}, "give pr")
		},
		"an outsider's from the repository's own branch": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Pull(planted).By("mallory").From("ours").At(p.Head())
			s.outsidersRun(p.Head(), "pull_request")
			for _, target := range targets(p) {
				both(s, target, "pull request 2 by "+who)
			}
		},
		"one that is closed by now is known by its number alone, and its answer is no other target's": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run("CI", p.Head()).On("pull_request").Job("unit").Fails("Run tests", "boom")
			p.Close()
			for range 2 {
				for target, shown := range map[api.Target]bool{{Pull: p.Number()}: true, {Ref: "ours"}: false, {Branch: "ours"}: false} {
					c := get[api.Checks](s, bridge.Request{Op: bridge.OpChecks, Target: target})
					if (c.Items[0].Name == "unit") != shown || (c.Withheld == "") != shown {
						s.Errorf("%+v: %+v, want it shown: %v", target, c, shown)
					}
				}
			}
		},
		"authors are asked for where it matters alone, and not again at once": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run("CI", p.Head()).On("pull_request").Job("unit").Fails("Run tests", "boom")
			asks := func(repo string) int {
				before := s.gh.Count("GET", "/pulls/1")
				for _, op := range []string{bridge.OpChecks, bridge.OpFailedLogs, bridge.OpChecks} {
					get[any](s, bridge.Request{Op: op, Repo: repo, Target: api.Target{Ref: "ours"}})
				}
				return s.gh.Count("GET", "/pulls/1") - before
			}
			if open, trusting := asks("open"), asks("widgets"); open != 0 || trusting != 1 {
				s.Errorf("%d looks at pull requests where agents read all and %d where they don't, want none and one", open, trusting)
			}
		},
	})
}

func TestWhatIsWithheldOfARunComesByNoOtherWay(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"by a cursor from before; that of a trusted run goes on": func(s *scene) {
			p := s.trustedPull()
			s.repo.Member("mia", "MEMBER")
			long := strings.Repeat("##[error]boom\nother line\n", 3000)
			s.repo.Run("CI", p.Head()).Job("unit").Fails("Run tests", long)
			s.repo.Run(planted, p.Head()).On("issue_comment").Job(planted).Fails(planted, strings.ReplaceAll(long, "other", planted))
			before := get[api.FailedLogs](s, logsOf(p.Number()))
			if len(before.Jobs) != 2 || before.Jobs[0].NextCursor == "" || before.Jobs[1].NextCursor == "" {
				s.Fatalf("no cursors to logs: %+v", before)
			}
			s.trusting()
			r := logsOf(p.Number())
			r.Cursor = before.Jobs[1].NextCursor
			s.clean(r, "begun by issue_comment")
			r.Cursor = before.Jobs[0].NextCursor
			pages := 0
			for ; r.Cursor != ""; pages++ {
				l := get[api.FailedLogs](s, r)
				if pages > 9 || l.Jobs[0].Names[0] != "unit" || !strings.Contains(l.Jobs[0].Excerpt, "boom") || l.Withheld != "" {
					s.Fatalf("page %d: %+v", pages, l)
				}
				r.Cursor = l.Jobs[0].NextCursor
			}
			if pages < 2 {
				s.Errorf("the log is %d pages, want several", pages)
			}
		},
		"by a fault that says whose log is missing": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run(planted, p.Head()).On("issue_comment").Job(planted).Step(planted, "failure", planted).Is("in_progress", "")
			if e := s.refused(logsOf(p.Number()), api.Unavailable, "log_not_ready", "the log of job 3"); strings.Contains(e.Text(), planted) {
				s.Errorf("it passes on what an outsider wrote: %s", e.Text())
			}
		},
		"by what could not be read": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.outsidersRun(p.Head(), "issue_comment")
			s.gh.When("GET", "/repos/acme/widgets/actions/runs/*/jobs").Page(500)
			s.clean(logsOf(p.Number()), "jobs of workflow run 3")
		},
		"by the name of a run that made no job": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run(planted, p.Head()).On("issue_comment").Is("completed", "startup_failure")
			s.clean(checksOf(p.Number()), "begun by issue_comment", `"state":"startup_failure"`)
			s.clean(logsOf(p.Number()), "begun by issue_comment", `"conclusion":"startup_failure"`)
		},
		"by runs that cannot be read at all": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.outsidersRun(p.Head(), "issue_comment")
			s.gh.When("GET", "/repos/acme/widgets/actions/runs").Page(500)
			s.clean(checksOf(p.Number()), "nobody can tell what began", "workflow runs: ")
			s.clean(logsOf(p.Number()), "nobody can tell what began")
		},
		"by a trusted run that failed alike": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Run("CI", p.Head()).Job("unit").Fails("Run tests", "##[error]boom")
			s.repo.Run("CI", p.Head()).On("issue_comment").Job(planted).Fails("Run tests", "##[error]boom")
			s.clean(logsOf(p.Number()), "boom", `"names":["unit"]`, `"names":["[withheld]"]`)
			r := logsOf(p.Number())
			r.Repo = "open"
			if l := get[api.FailedLogs](s, r); len(l.Jobs) != 1 || !slices.Equal(l.Jobs[0].Names, []string{"unit", planted}) {
				s.Errorf("where agents read all: %+v, want them in one", l)
			}
		},
		"by a check that a run made of itself": func(s *scene) {
			s.trusting()
			p := s.trustedPull()
			s.repo.Check("github-actions", planted, p.Head()).Is("completed", "failure").Output(planted, planted)
			s.repo.Run("CI", p.Head()).Job("unit").Fails("Run tests", "boom")
			s.clean(checksOf(p.Number()), "nobody can tell what began", `"name":"unit"`)
			s.clean(logsOf(p.Number()), "nobody can tell what began", "boom")
		},
	})
}
