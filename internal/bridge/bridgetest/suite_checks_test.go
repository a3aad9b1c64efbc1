package bridgetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fleet/api"
)

// summary writes checks as "overall: name=bucket …".
func summary(c api.Checks) string {
	text := c.Overall + ":"
	for _, item := range c.Items {
		text += " " + item.Name + "=" + item.Bucket
	}
	return text
}

// shows holds the checks of a pull request to their summary.
func (s *scene) shows(number int, want string) api.Checks {
	s.Helper()
	c := get[api.Checks](s, checksOf(number))
	if got := summary(c); got != want {
		s.Errorf("checks are\n%s (%s), want\n%s", got, c.Reason, want)
	}
	total := 0
	for _, n := range c.Counts {
		total += n
	}
	if total != len(c.Items) && !c.Truncated {
		s.Errorf("counts %v of %d checks", c.Counts, len(c.Items))
	}
	return c
}

func TestChecks(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a status alone, without any check run, is listed": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Status(p.Head(), "ci/jenkins", "failure", "Build #7 failed")
			c := s.shows(p.Number(), "fail: ci/jenkins=fail")
			if i := c.Items[0]; i.Source != "status" || i.Summary != "Build #7 failed" || i.HasLog || i.URL == "" {
				s.Errorf("the status = %+v", i)
			}
		},
		"jobs alone, whose combined status says pending, are what counts": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test (1.25, linux)")
			c := s.shows(p.Number(), "pass: test (1.25, linux)=pass")
			if i := c.Items[0]; i.Source != "check_run" || i.Workflow != "CI" || i.App != "github-actions" || i.StartedAt == nil {
				s.Errorf("the job = %+v", i)
			}
		},
		"no checks at all is none, never a success": func(s *scene) {
			p := s.repo.Pull("Fix")
			if c := s.shows(p.Number(), "none:"); c.Reason == "" || c.Items == nil {
				s.Errorf("checks = %+v, want a reason and an empty list", c)
			}
		},
		"a run that never started, for its file is broken, is a failure with a reason": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Is("completed", "startup_failure")
			if c := s.shows(p.Number(), "fail: CI=fail"); !strings.Contains(c.Reason, "never started") || c.Items[0].Source != "workflow_run" {
				s.Errorf("checks = %+v", c)
			}
		},
		"a fork's run that waits for approval is pending, and says for what": func(s *scene) {
			p := s.repo.Pull("Fix").Fork("mallory")
			s.repo.Run("CI", p.Head()).On("pull_request").Is("completed", "action_required")
			if c := s.shows(p.Number(), "pending: CI=pending"); !strings.Contains(c.Reason, "approval") {
				s.Errorf("reason = %q", c.Reason)
			}
		},
	})
}

func TestChecksThatSupersede(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a red of an earlier run on the same commit is superseded": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Is("completed", "failure")
			s.repo.Run("CI", p.Head()).Job("test")
			if c := s.shows(p.Number(), "pass: test=pass"); !strings.Contains(c.Reason, "earlier") {
				s.Errorf("reason = %q, want the one left out mentioned", c.Reason)
			}
		},
		"checks of one name by two apps, a status, and two workflows are as many checks": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("lint")
			s.repo.Run("Nightly", p.Head()).Job("lint").Is("completed", "failure")
			s.repo.Check("codecov", "lint", p.Head())
			s.repo.Status(p.Head(), "lint", "success", "")
			s.shows(p.Number(), "fail: lint=fail lint=pass lint=pass lint=pass")
		},
		"more than a hundred check runs are all there": func(s *scene) {
			p := s.repo.Pull("Fix")
			run := s.repo.Run("CI", p.Head())
			for n := range 130 {
				run.Job(fmt.Sprintf("test (%d)", n))
			}
			run.Job("the last").Is("completed", "failure")
			r := checksOf(p.Number())
			var names []string
			for range 10 {
				c := get[api.Checks](s, r)
				for _, i := range c.Items {
					names = append(names, i.Name)
				}
				if c.Overall != "fail" || c.Counts["pass"] != 130 || c.Counts["fail"] != 1 {
					s.Errorf("overall %s, counts %v", c.Overall, c.Counts)
				}
				if r.Cursor = c.NextCursor; r.Cursor == "" {
					break
				}
			}
			slices.Sort(names)
			if n := len(slices.Compact(names)); n != 131 || len(names) != 131 {
				s.Errorf("%d names, %d of them different; want 131", len(names), n)
			}
		},
	})
}

func TestChecksOfEachState(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"skipped and neutral are no failures, and no proof of success": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("deploy").Is("completed", "skipped")
			s.repo.Check("codecov", "coverage", p.Head()).Is("completed", "neutral")
			if c := s.shows(p.Number(), "skipped: coverage=skipped deploy=skipped"); c.Reason == "" {
				s.Error("no reason")
			}
		},
		"every way to fail is a failure": func(s *scene) {
			p := s.repo.Pull("Fix")
			for _, how := range []string{"failure", "timed_out", "action_required"} {
				s.repo.Check("app", how, p.Head()).Is("completed", how)
			}
			s.repo.Status(p.Head(), "error", "error", "")
			s.shows(p.Number(), "fail: action_required=fail error=fail failure=fail timed_out=fail")
		},
		"a cancelled run that a newer one replaced does not count, the newest does": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Is("completed", "cancelled")
			s.repo.Run("CI", p.Head()).Job("test")
			s.shows(p.Number(), "pass: test=pass")
			q := s.repo.Pull("Other")
			s.repo.Run("CI", q.Head()).Job("test").Is("completed", "cancelled")
			if c := s.shows(q.Number(), "cancelled: test=cancelled"); c.Reason == "" {
				s.Error("no reason")
			}
		},
		"whatever has not ended is pending": func(s *scene) {
			p := s.repo.Pull("Fix")
			for _, state := range []string{"queued", "in_progress", "waiting", "requested", "pending"} {
				s.repo.Check("app", state, p.Head()).Is(state, "")
			}
			s.repo.Status(p.Head(), "external", "pending", "")
			s.repo.Run("Slow", p.Head()).Is("queued", "")
			s.shows(p.Number(), "pending: external=pending in_progress=pending pending=pending queued=pending requested=pending waiting=pending Slow=pending")
		},
		"a credential that may not read checks says what is missing and shows the rest": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test")
			s.repo.Status(p.Head(), "ci/jenkins", "success", "")
			s.with(s.gh.FineGrained("ann", "pull_requests:read", "statuses:read", "actions:read"))
			c := get[api.Checks](s, checksOf(p.Number()))
			if c.Overall != api.BucketUnknown || len(c.Incomplete) != 1 || !strings.Contains(c.Incomplete[0], "checks:read") {
				s.Errorf("overall %q, incomplete %q; want unknown, and checks:read named", c.Overall, c.Incomplete)
			}
			if !strings.Contains(summary(c), "ci/jenkins=pass") {
				s.Errorf("checks = %s, want the status", summary(c))
			}
		},
	})
}
