package bridgetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/bridge"
)

// at starts the bridge with the forge's API at another address.
func (s *scene) at(api string) *scene {
	s.Helper()
	c, err := configOf(api, s.gh.Token(), s.dir)
	if err != nil {
		s.Fatal(err)
	}
	s.openWith(c)
	return s
}

func TestWhereTheForgeIs(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"an Enterprise Server has its API and its GraphQL below /api": func(s *scene) {
			s.at(s.gh.URL() + "/api/v3")
			p := s.repo.Pull("Fix")
			p.LineComment("bob", "a.go", 3, "why?").Resolve()
			for n := range 120 {
				s.repo.Issue("one of many").Comment("bob", strings.Repeat("x", n))
			}
			v := get[api.PullView](s, viewOf(bridge.OpPRView, p.Number()))
			if len(v.Comments) != 1 || v.Comments[0].Resolved == nil || !*v.Comments[0].Resolved {
				s.Errorf("comments = %+v, incomplete %q", v.Comments, v.Incomplete)
			}
			if items, _ := everyPage[api.IssueItem](s, issues); len(items) != 120 {
				s.Errorf("%d issues, want 120", len(items))
			}
			s.repo.Rename("acme/renamed")
			get[api.Written](s, pullComment(p.Number(), "after the rename"))
		},
		"an API that is reached without encryption, elsewhere than on this machine, is refused": func(s *scene) {
			s.at("http://192.0.2.1")
			s.refused(info, api.Unsupported, "bad_registration", "https", "operator")
		},
		"what asks too long of a forge that hangs is let go, and the bridge goes on": func(s *scene) {
			i := s.repo.Issue("Crash")
			rule := s.gh.When("GET", "/repos/acme/widgets/issues")
			rule.Stall()
			ctx, cancel := context.WithTimeout(s.Context(), 100*time.Millisecond)
			defer cancel()
			r := issues
			r.Repo, r.Workspace = "widgets", "widgets/main"
			_, err := s.caller.Do(ctx, r)
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.Unavailable {
				s.Errorf("a list that hangs: %v, want unavailable", err)
			}
			get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			rule.End()
			s.healthy()
		},
	})
}
