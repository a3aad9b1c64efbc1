package bridgetest_test

import (
	"fmt"
	"testing"

	"fleet/api"
)

// Something on the way answers a post with good JSON that is no comment.
func TestAnAnswerThatIsNoCommentIsNotTakenForOne(t *testing.T) {
	stories := map[string]func(s *scene){}
	for name, body := range map[string]string{"an empty object": `{}`, "null": `null`, "a notice": `{"message":"please sign in"}`} {
		for _, status := range []int{200, 201} {
			stories[fmt.Sprint(name, " with ", status)] = func(s *scene) {
				i := s.repo.Issue("an issue")
				s.gh.When("POST", "").Times(1).Answer(status, nil, body)
				raw, e := s.do(comment(i.Number(), "hello"))
				if e == nil && len(i.Texts()) == 0 {
					s.Errorf("told %s, and nothing was posted", raw)
				}
				if e != nil && e.Code != api.OutcomeUnknown {
					s.Errorf("%s", e.Text())
				}
			}
		}
	}
	waiting(t, stories)
}

func TestAnAnswerThatIsNoReviewIsNotTakenForOne(t *testing.T) {
	waiting(t, map[string]func(s *scene){"an empty object": func(s *scene) {
		p := s.repo.Pull("Fix")
		s.gh.When("POST", "").Times(1).Answer(200, nil, `{}`)
		if raw, e := s.do(review(p.Number(), "APPROVE", "good")); e == nil && len(p.Reviews()) == 0 {
			s.Errorf("told %s, and nothing was filed", raw)
		}
	}})
}
