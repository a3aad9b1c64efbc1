package bridgetest_test

import (
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
)

func TestChecksOfATarget(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"checks of a branch, a commit and a pull request are those of its commit": func(s *scene) {
			p := s.repo.Pull("Fix").From("feature/x#1")
			s.repo.Run("CI", p.Head()).Job("test")
			for _, at := range []api.Target{{Pull: p.Number()}, {Ref: "feature/x#1"}, {Ref: p.Head()}, {Branch: "feature/x#1", SHA: p.Head()}} {
				c := get[api.Checks](s, bridge.Request{Op: bridge.OpChecks, Target: at})
				if c.Target.SHA != p.Head() || c.Overall != "pass" || c.Target.Note != "" {
					s.Errorf("%+v: %+v, overall %s", at, c.Target, c.Overall)
				}
			}
		},
		"a workspace that is ahead of what was pushed is told so": func(s *scene) {
			p := s.repo.Pull("Fix").From("fix")
			at := api.Target{Branch: "fix", SHA: strings.Repeat("1", 40)}
			c := get[api.Checks](s, bridge.Request{Op: bridge.OpChecks, Target: at})
			if c.Target.SHA != p.Head() || !strings.Contains(c.Target.Note, "111111111111") {
				s.Errorf("target = %+v, want the pushed commit and a note", c.Target)
			}
		},
		"a branch that was never pushed says so": func(s *scene) {
			r := bridge.Request{Op: bridge.OpChecks, Target: api.Target{Branch: "mine", SHA: strings.Repeat("1", 40)}}
			s.refused(r, api.NotFound, "not_pushed", "git push")
			r.Target = api.Target{Ref: "nowhere"}
			s.refused(r, api.NotFound, "no_such_ref")
		},
		"a pull request and a ref at once are refused, and so is neither": func(s *scene) {
			s.refused(bridge.Request{Op: bridge.OpChecks, Target: api.Target{Pull: 1, Ref: "main"}}, api.Invalid, "two_targets", "not both")
			s.refused(bridge.Request{Op: bridge.OpFailedLogs}, api.Invalid, "no_target", "pr or ref")
		},
		"a new push is a new question": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Is("completed", "failure")
			old := p.Head()
			s.shows(p.Number(), "fail: test=fail")
			r := bridge.Request{Op: bridge.OpChecks, Target: api.Target{Ref: p.Push()}}
			if c := get[api.Checks](s, r); c.Overall != "none" || c.Target.SHA == old {
				s.Errorf("checks of the new commit = %s at %s", summary(c), c.Target.SHA)
			}
		},
	})
}

func TestOddRefsNameNothingElse(t *testing.T) {
	refused := []string{
		"../../x", "..", ".", "%2e%2e/x", "%2e%2e", "a b", "a?b", "a*b", "a..b", "/a", "a/", "a//b", ".a", "a.lock", "-a", "a~1", "a^", "a:b", `a\b`,
		"a\x00b", "a\nb", "@{u}", "@", "refs/heads/../x", "\u202ea",
	}
	s := newScene(t)
	for _, op := range []string{bridge.OpChecks, bridge.OpFailedLogs} {
		for _, ref := range refused {
			s.refused(bridge.Request{Op: op, Target: api.Target{Ref: ref}}, api.Invalid, "bad_ref")
			s.refused(bridge.Request{Op: op, Target: api.Target{Branch: ref}}, api.Invalid, "bad_ref")
		}
	}
	if n := len(s.gh.Requests()); n != 0 {
		t.Errorf("the forge was asked %d times: %+v", n, s.gh.Requests())
	}
	// What git takes and an address gives a meaning reaches the forge as one part of a path.
	for _, ref := range []string{"a#b", "a%2fb", "a%20b", "é/ü", "a&b=c", "a;b", "a+b", "heads/main"} {
		_, e := s.do(bridge.Request{Op: bridge.OpChecks, Target: api.Target{Ref: ref}})
		if ref != "heads/main" && (e == nil || e.Reason != "no_such_ref") || ref == "heads/main" && e != nil {
			t.Errorf("ref %q: %v", ref, e)
		}
	}
	for _, r := range s.gh.Requests() {
		path := strings.TrimPrefix(r.Path, "/repos/acme/widgets")
		if strings.Contains(path, "..") || strings.Count(path, "/") > 3 {
			t.Errorf("the forge was asked for %s", r.Path)
		}
	}
}
