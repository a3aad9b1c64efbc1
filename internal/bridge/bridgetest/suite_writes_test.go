package bridgetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

func pullComment(number int, body string) bridge.Request {
	return bridge.Request{Op: bridge.OpPRComment, Number: number, Body: body}
}

func TestComments(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a comment's answer is its number and address, and the text is as it was written": func(s *scene) {
			text := "a<b && `Promise<string>` \"q\" &amp;\n\n- é \u2764\ufe0f @mia Fixes #1"
			i := s.repo.Issue("Crash")
			raw, _ := s.do(comment(i.Number(), text))
			w := get[api.Written](s, comment(i.Number(), "another"))
			if got := i.Texts(); len(got) != 2 || got[0] != text {
				s.Errorf("the issue has %q", got)
			}
			if w.ID == 0 || !strings.Contains(w.URL, fmt.Sprint("#issuecomment-", w.ID)) || len(raw) > 300 || strings.Contains(string(raw), "Promise") {
				s.Errorf("answer %s, then %+v", raw, w)
			}
		},
		"a comment on a pull request goes to its conversation": func(s *scene) {
			p := s.repo.Pull("Fix")
			w := get[api.Written](s, pullComment(p.Number(), "hello"))
			if got := p.Issue().Texts(); len(got) != 1 || !strings.Contains(w.URL, "/pull/1#issuecomment-") {
				s.Errorf("the pull request has %q, answer %+v", got, w)
			}
		},
		"a comment for a pull request does not land on an issue": func(s *scene) {
			i := s.repo.Issue("an issue")
			s.refused(pullComment(i.Number(), "hello"), api.NotFound, "no_such_pull")
			if got := i.Texts(); len(got) != 0 {
				s.Errorf("the issue has %q", got)
			}
		},
		"blank comments, and reviews that need words and have none, never leave the bridge": func(s *scene) {
			p := s.repo.Pull("Fix")
			for _, r := range []bridge.Request{
				comment(p.Number(), " \n\t"), pullComment(p.Number(), ""), review(p.Number(), "REQUEST_CHANGES", "\u200b "),
				review(p.Number(), "COMMENT", ""),
			} {
				s.refused(r, api.Invalid, "empty_body", "nothing was posted")
			}
			if n := len(s.gh.Requests()); n != 0 {
				s.Errorf("the forge was asked %d times", n)
			}
		},
		"a comment of as many characters as GitHub takes goes, one more doesn't": func(s *scene) {
			i := s.repo.Issue("long")
			get[api.Written](s, comment(i.Number(), strings.Repeat("x", 65_536)))
			s.refused(comment(i.Number(), strings.Repeat("x", 65_537)), api.Invalid, "body_too_long", "shorten")
			// GitHub counts a character beyond the basic plane as two.
			s.refused(comment(i.Number(), strings.Repeat("\U0001F600", 40_000)), api.Invalid, "body_too_long")
			if got := i.Texts(); len(got) != 1 {
				s.Errorf("the issue has %d comments, want 1", len(got))
			}
		},
	})
}

func TestCommentsThatGitHubRefuses(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a locked conversation takes a member's comment and no outsider's": func(s *scene) {
			i := s.repo.Issue("heated").Lock()
			s.refused(comment(i.Number(), "hello"), api.Forbidden, "locked", "tell a human")
			s.repo.Member("fleet-bot", "COLLABORATOR")
			get[api.Written](s, comment(i.Number(), "hello again"))
		},
		"an archived repository is read and not written": func(s *scene) {
			i := s.repo.Issue("old")
			s.repo.Archive()
			get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			s.refused(comment(i.Number(), "hello"), api.Forbidden, "repo_archived", "unarchive")
		},
		"a comment on an issue that is not there, or not any more, says which": func(s *scene) {
			i := s.repo.Issue("spam").Delete()
			s.refused(comment(99, "hello"), api.NotFound, "no_such_issue", "nothing was posted")
			s.refused(comment(i.Number(), "hello"), api.NotFound, "gone")
		},
	})
}

func TestCommentsArePostedOnce(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"two runs of a harness that say different things post both": func(s *scene) {
			i := s.repo.Issue("Crash")
			get[api.Written](s, comment(i.Number(), "the first run"))
			get[api.Written](s, comment(i.Number(), "the second run"))
			if got := i.Texts(); !slices.Equal(got, []string{"the first run", "the second run"}) {
				s.Errorf("the issue has %q", got)
			}
		},
		"the same words again are answered with the first comment": func(s *scene) {
			i := s.repo.Issue("Crash")
			w := get[api.Written](s, comment(i.Number(), "done"))
			again := get[api.Written](s, comment(i.Number(), "done"))
			if got := i.Texts(); len(got) != 1 || again.DuplicateOf != w.URL || again.Note == "" {
				s.Errorf("the issue has %q, the second answer is %+v", got, again)
			}
			r := comment(i.Number(), "done")
			r.Workspace = "widgets/other"
			if w := get[api.Written](s, r); w.DuplicateOf != "" || len(i.Texts()) != 2 {
				s.Errorf("another workspace's comment: %+v, the issue has %q", w, i.Texts())
			}
		},
		"a comment that holds a credential stays here": func(s *scene) {
			i := s.repo.Issue("Crash")
			for _, secret := range []string{
				"ghp_" + strings.Repeat("a1B2", 9), bridgetest.LongToken(), "github_pat_" + strings.Repeat("Z9y8", 20),
				"AKIAIOSFODNN7EXAMPLE", "glpat-" + strings.Repeat("a1B2", 5), "https://bob:hunter2secret@example.com/x",
				"-----BEGIN RSA PRIVATE KEY-----\nMIIE",
			} {
				s.refused(comment(i.Number(), "use "+secret+" please"), api.Forbidden, "holds_credential", "nothing was posted")
			}
			if n := len(s.gh.Requests()); n != 0 {
				s.Errorf("the forge was asked %d times", n)
			}
		},
		"a comment is seen by the next view": func(s *scene) {
			i := s.repo.Issue("Crash")
			get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
			get[api.Written](s, comment(i.Number(), "here"))
			if v := get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number())); len(v.Comments) != 1 {
				s.Errorf("the view has %d comments, want 1", len(v.Comments))
			}
		},
	})
}

func TestReviews(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"each event becomes the review that it says, on the head": func(s *scene) {
			p := s.repo.Pull("Fix")
			for event, state := range map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"} {
				w := get[api.Written](s, review(p.Number(), event, "because "+event))
				if w.State != state || w.CommitSHA != p.Head() || w.Note != "" {
					s.Errorf("%s: %+v", event, w)
				}
			}
			if got := p.Reviews(); len(got) != 3 {
				s.Errorf("reviews = %q, want 3", got)
			}
		},
		"an approval needs no words": func(s *scene) {
			p := s.repo.Pull("Fix")
			if w := get[api.Written](s, review(p.Number(), "APPROVE", "")); w.State != "APPROVED" {
				s.Errorf("review = %+v", w)
			}
		},
		"a review without an event, or with an unknown one, never becomes a pending one": func(s *scene) {
			p := s.repo.Pull("Fix")
			for _, event := range []string{"", "APPROVED", "approve", "PENDING"} {
				s.refused(review(p.Number(), event, "x"), api.Invalid, "event", "APPROVE, REQUEST_CHANGES or COMMENT")
			}
			if got := p.Reviews(); len(got) != 0 {
				s.Errorf("reviews = %q", got)
			}
		},
		"nobody approves or rejects his own pull request, and the way out is said": func(s *scene) {
			p := s.repo.Pull("Mine").By("fleet-bot")
			s.refused(review(p.Number(), "APPROVE", "fine"), api.Forbidden, "self_review", "event COMMENT")
			s.refused(review(p.Number(), "REQUEST_CHANGES", "bad"), api.Forbidden, "self_review", "event COMMENT")
			get[api.Written](s, review(p.Number(), "COMMENT", "a remark"))
		},
		"a pending review that a person began is in the way, and that is said": func(s *scene) {
			p := s.repo.Pull("Fix")
			p.Review("fleet-bot", bridgetest.Pending, "begun in the browser")
			s.refused(review(p.Number(), "APPROVE", ""), api.Conflict, "pending_review", "submit or discard", "repo_pr_comment")
		},
		"GitHub Actions that may not approve is a permission": func(s *scene) {
			p := s.repo.Pull("Fix")
			s.with(s.gh.NewToken("github-actions[bot]"))
			s.refused(review(p.Number(), "APPROVE", ""), api.Forbidden, "permission", "event COMMENT")
		},
	})
}

func TestReviewsOfAPushedCommit(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"a review of a commit that is not the head any more is not filed": func(s *scene) {
			p := s.repo.Pull("Fix")
			seen := p.Head()
			p.Push()
			r := review(p.Number(), "APPROVE", "")
			r.Head = seen
			s.refused(r, api.Conflict, "head_moved", "repo_pr_view")
			if got := p.Reviews(); len(got) != 0 {
				s.Errorf("reviews = %q", got)
			}
		},
		"a push while the review is filed does not give it to the new commit": func(s *scene) {
			p := s.repo.Pull("Fix").PushBeforeReview()
			seen := p.Head()
			w := get[api.Written](s, review(p.Number(), "APPROVE", ""))
			if w.CommitSHA != seen || !strings.Contains(w.Note, "pushed") || p.Head() == seen {
				s.Errorf("review = %+v, want it of %s and a word on the push", w, seen)
			}
		},
		"the same verdict on a new commit is a new review": func(s *scene) {
			p := s.repo.Pull("Fix")
			get[api.Written](s, review(p.Number(), "APPROVE", "good"))
			if w := get[api.Written](s, review(p.Number(), "APPROVE", "good")); w.DuplicateOf == "" {
				s.Errorf("the same review of the same commit = %+v, want a duplicate", w)
			}
			p.Push()
			if w := get[api.Written](s, review(p.Number(), "APPROVE", "good")); w.DuplicateOf != "" || len(p.Reviews()) != 2 {
				s.Errorf("the review of the next commit = %+v, reviews %q", w, p.Reviews())
			}
		},
		"a locked or archived pull request takes no review": func(s *scene) {
			p := s.repo.Pull("Fix")
			p.Issue().Lock()
			s.refused(review(p.Number(), "COMMENT", "x"), api.Forbidden, "locked")
			s.repo.Archive()
			s.refused(review(p.Number(), "COMMENT", "y"), api.Forbidden, "repo_archived")
		},
		"a pull request that is not there takes none": func(s *scene) {
			s.refused(review(9, "COMMENT", "x"), api.NotFound, "no_such_pull")
		},
	})
}
