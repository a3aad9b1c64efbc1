package bridgetest_test

import (
	"testing"

	"fleet/api"
)

func TestWhatIsKeptOfTheQuotaForWritesIsForTheirLooksToo(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"after a comment whose answer was lost": func(s *scene) {
			i := s.repo.Issue("Crash")
			s.gh.SetQuota(5000, 100)
			get[api.Written](s, comment(i.Number(), "so that the quota is known"))
			s.gh.When("POST", postedComments).Times(1).CutAfter(0)
			w := get[api.Written](s, comment(i.Number(), "hello"))
			if got := i.Texts(); len(got) != 2 || w.URL == "" {
				s.Errorf("comments %q, answer %+v; want that it is found", got, w)
			}
		},
		"before a review": func(s *scene) {
			i, p := s.repo.Issue("Crash"), s.repo.Pull("Fix")
			s.gh.SetQuota(5000, 100)
			get[api.Written](s, comment(i.Number(), "so that the quota is known"))
			get[api.Written](s, review(p.Number(), "COMMENT", "hm"))
		},
	})
}
