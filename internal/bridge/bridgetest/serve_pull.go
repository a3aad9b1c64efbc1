package bridgetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

func showPull(c *call) reply {
	return c.withIssue(func(i *Issue) reply { return ok(c.pull(i.pull)) })
}

// listReviews leaves out pending reviews of others.
func listReviews(c *call) reply {
	return c.withIssue(func(i *Issue) reply {
		all := slices.DeleteFunc(slices.Clone(i.pull.reviews), func(v *Review) bool {
			return v.state == Pending && (c.token == nil || v.by != c.token.login)
		})
		return list(c, all, c.review)
	})
}

func listLineComments(c *call) reply {
	return c.withIssue(func(i *Issue) reply {
		var all []*lineComment
		for _, t := range i.pull.threads {
			all = append(all, t.comments...)
		}
		slices.SortFunc(all, func(a, b *lineComment) int { return int(a.id - b.id) })
		return list(c, all, c.lineComment)
	})
}

// reviewIn is what a review is asked for with.
type reviewIn struct {
	Event    string
	Body     string
	CommitID string `json:"commit_id"`
}

// postReview follows https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request:
// without an event, the review stays pending, where nobody but its author sees it.
func postReview(c *call) reply {
	return c.withIssue(func(i *Issue) reply {
		p := i.pull
		var in reviewIn
		if json.Unmarshal(c.body, &in) != nil {
			return refuse(http.StatusBadRequest, "Problems parsing JSON")
		}
		if p.racing != nil {
			p.racing()
			p.racing = nil
		}
		if r := c.mayWrite(i, in.Body); r != nil {
			return *r
		}
		if r := c.refuseReview(p, in); r != nil {
			return *r
		}
		state, ok1 := map[string]string{"APPROVE": Approved, "REQUEST_CHANGES": ChangesRequested, "COMMENT": Commented, "": Pending}[in.Event]
		if !ok1 {
			return invalid("Variable $event of type PullRequestReviewEvent was provided invalid value")
		}
		if in.CommitID == "" {
			in.CommitID = p.head
		}
		return ok(c.review(p.review(c.token.login, state, in.Body, in.CommitID, now())))
	})
}

// refuseReview gives what GitHub says to a review that it does not take; nil: it takes it.
func (c *call) refuseReview(p *Pull, in reviewIn) *reply {
	pending := slices.ContainsFunc(p.reviews, func(v *Review) bool { return v.state == Pending && v.by == c.token.login })
	verdict := in.Event == "APPROVE" || in.Event == "REQUEST_CHANGES"
	var r reply
	switch {
	case pending:
		r = invalid("User can only have one pending review per pull request")
	case in.Event == "APPROVE" && p.issue.by == c.token.login:
		r = invalid("Can not approve your own pull request")
	case verdict && p.issue.by == c.token.login:
		r = invalid("Can not request changes on your own pull request")
	case in.Event == "APPROVE" && c.token.login == "github-actions[bot]":
		r = invalid("GitHub Actions is not permitted to approve pull requests.")
	case in.Event != "APPROVE" && in.Event != "" && strings.TrimSpace(in.Body) == "":
		r = invalid("Body can't be blank")
	case in.CommitID != "" && c.repo.commits[in.CommitID] == nil:
		r = invalid("The commit_id is not part of the pull request")
	default:
		return nil
	}
	return &r
}
