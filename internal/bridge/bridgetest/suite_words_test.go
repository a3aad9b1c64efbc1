package bridgetest_test

import (
	"slices"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
)

// under starts the bridge with a policy for widgets.
func (s *scene) under(policy bridge.Policy) *scene {
	s.Helper()
	registered := map[string]bridge.Registered{}
	for name, r := range s.config.Registry() {
		r.Policy = policy
		registered[name] = r
	}
	c := s.config
	c.Registry = func() map[string]bridge.Registered { return registered }
	s.openWith(c)
	return s
}

func TestWhatMakesAForgeDoMoreThanPostACommentIsTheOperatorsToAllow(t *testing.T) {
	const crowd, closes = "@acme/everybody and @all: done", "Fixes #1, closes acme/gadgets#2 and resolves https://github.example/acme/widgets/issues/3"
	cases(t, map[string]func(s *scene){
		"mass mentions are refused unless allowed, in comments and reviews": func(s *scene) {
			i, p := s.repo.Issue("Crash"), s.repo.Pull("Fix").By("mia")
			for _, r := range []bridge.Request{comment(i.Number(), crowd), pullComment(p.Number(), crowd), review(p.Number(), "COMMENT", crowd), review(p.Number(), "APPROVE", crowd)} {
				s.refused(r, api.Forbidden, "mass_mention", "@acme/everybody", "@all", "nothing was posted", "Next: put the words in backticks", "mass_mentions")
			}
			if n := s.gh.Count("POST", ""); n != 0 {
				s.Errorf("%d requests wrote", n)
			}
			s.under(bridge.Policy{AllowMassMentions: true})
			get[api.Written](s, comment(i.Number(), crowd))
			if got := i.Texts(); !slices.Equal(got, []string{crowd}) {
				s.Errorf("%q", got)
			}
		},
		"closing keywords are posted unless refused": func(s *scene) {
			i := s.repo.Issue("Crash")
			get[api.Written](s, comment(i.Number(), closes))
			s.under(bridge.Policy{RefuseClosingKeywords: true})
			for body, words := range map[string]string{
				closes: "Fixes #1, closes acme/gadgets#2, resolves https://github.example/acme/widgets/issues/3", "Duplicate of #4": "Duplicate of #4",
			} {
				s.refused(comment(i.Number(), body), api.Forbidden, "closing_keyword", words, "nothing was posted", "see #1", "closing_keywords")
			}
			if got := i.Texts(); !slices.Equal(got, []string{closes}) {
				s.Errorf("%q", got)
			}
		},
		"in code both mean nothing, and are posted as they are": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.under(bridge.Policy{RefuseClosingKeywords: true})
			text := "`@acme/everybody` and `Fixes #1`\n\n```\n@all\ncloses #2\n```\n"
			get[api.Written](s, comment(i.Number(), text))
			if got := i.Texts(); !slices.Equal(got, []string{text}) {
				s.Errorf("%q, want %q", got, text)
			}
		},
		"a refusal stands in the audit, without the words": func(s *scene) {
			s.refused(comment(s.repo.Issue("Crash").Number(), crowd), api.Forbidden, "mass_mention")
			all := s.traces()
			for where, trace := range all {
				if strings.Contains(trace, "everybody") {
					s.Errorf("the words stand in %s", where)
				}
			}
			if audit := all["the file audit.jsonl"]; !strings.Contains(audit, `"reason":"mass_mention"`) {
				s.Errorf("audit: %s", audit)
			}
		},
	})
}
