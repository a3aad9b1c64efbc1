package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

// maxBody bounds a comment, in UTF-16 units, which are never fewer than its characters.
const maxBody = 65536

// states are what a review with an event is filed as.
var states = map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}

// Write posts a comment or review, once.
// See https://docs.github.com/rest/issues/comments#create-an-issue-comment and
// https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request.
func (p *Provider) Write(ctx context.Context, r bridge.Repo, w bridge.Write) (*api.Written, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	if err := checkWrite(w); err != nil {
		return nil, err
	}
	ctx = bridge.WithWrite(ctx)
	if at, err = p.pinned(ctx, at); err != nil {
		return nil, err
	}
	switch w.Kind {
	case bridge.PullReview:
		return p.review(ctx, at, w)
	case bridge.PullComment:
		// The address is an issue's: without this look, the text would land on an issue.
		if _, err := p.pull(ctx, at, w.Number); err != nil {
			return nil, err
		}
	case bridge.IssueComment:
	}
	var posted gh.IssueComment
	_, err = p.send(ctx, http.MethodPost, at.under(nil, "issues", strconv.Itoa(w.Number), "comments"), map[string]string{"body": w.Body}, &posted)
	if err != nil {
		return nil, p.refusedWrite(ctx, at, w, err)
	}
	if posted.GetID() == 0 || posted.GetHTMLURL() == "" {
		return nil, noAnswer(errors.New("it is no comment"))
	}
	return writtenComment(&posted), nil
}

func writtenComment(c *gh.IssueComment) *api.Written {
	return &api.Written{ID: c.GetID(), URL: c.GetHTMLURL(), CreatedAt: c.GetCreatedAt().UTC()}
}

// checkWrite refuses what the forge would, or would file unseen.
func checkWrite(w bridge.Write) error {
	blank := strings.TrimSpace(w.Body) == ""
	switch w.Kind {
	case bridge.IssueComment, bridge.PullComment:
	case bridge.PullReview:
		if states[w.Event] == "" {
			return &api.Error{Code: api.Invalid, Reason: "bad_event", Message: "event is APPROVE, REQUEST_CHANGES or COMMENT; nothing was posted"}
		}
		blank = blank && w.Event != "APPROVE"
	default:
		return &api.Error{Code: api.Invalid, Reason: "bad_write", Message: "the bridge writes comments and reviews only"}
	}
	if w.Number <= 0 {
		return &api.Error{Code: api.Invalid, Reason: "bad_number", Message: "a number is positive; nothing was posted"}
	}
	if blank {
		return &api.Error{
			Code: api.Invalid, Reason: "body_empty", Message: "a comment, and a review that is no approval, needs a body; nothing was posted",
			Hint: "say in body what you mean",
		}
	}
	if len(w.Body) > maxBody && len(utf16.Encode([]rune(w.Body))) > maxBody {
		return tooLong(nil)
	}
	return nil
}

// review submits a review of one commit. The event is always sent, since without it the forge
// files a review that nobody sees; and so is the commit, since without it an approval lands on
// whatever was pushed meanwhile.
func (p *Provider) review(ctx context.Context, at place, w bridge.Write) (*api.Written, error) {
	pull, err := p.pull(ctx, at, w.Number)
	if err != nil {
		return nil, err
	}
	head := pull.GetHead().GetSHA()
	if w.Head == "" {
		w.Head = head
	}
	if w.Head != head {
		return nil, headMoved(nil)
	}
	request := map[string]string{"event": w.Event, "commit_id": w.Head}
	if w.Body != "" {
		request["body"] = w.Body
	}
	var posted gh.PullRequestReview
	if _, err = p.send(ctx, http.MethodPost, at.under(nil, "pulls", strconv.Itoa(w.Number), "reviews"), request, &posted); err != nil {
		return nil, p.refusedWrite(ctx, at, w, err)
	}
	if posted.GetID() == 0 || posted.GetHTMLURL() == "" || posted.GetState() == "" {
		return nil, noAnswer(errors.New("it is no review"))
	}
	written := writtenReview(&posted)
	written.Note = p.verified(ctx, at, w, &posted)
	return written, nil
}

func writtenReview(r *gh.PullRequestReview) *api.Written {
	return &api.Written{
		ID: r.GetID(), URL: r.GetHTMLURL(), State: r.GetState(), CommitSHA: r.GetCommitID(), CreatedAt: r.GetSubmittedAt().UTC(),
	}
}

// verified says what is not as it was asked for, after the fact.
func (p *Provider) verified(ctx context.Context, at place, w bridge.Write, posted *gh.PullRequestReview) string {
	switch {
	case posted.GetState() == "PENDING":
		return "the forge keeps the review as pending, where nobody sees it: ask a human to submit it on the forge"
	case posted.GetState() != states[w.Event]:
		return fmt.Sprintf("the forge filed the review as %s", posted.GetState())
	case posted.GetCommitID() != w.Head:
		return fmt.Sprintf("the forge filed the review for the commit %.12s, not for %.12s", posted.GetCommitID(), w.Head)
	}
	pull, err := p.pull(ctx, at, w.Number)
	if err == nil && pull.GetHead().GetSHA() != w.Head {
		return fmt.Sprintf("meanwhile %.12s was pushed: the review is of the commit before, %.12s", pull.GetHead().GetSHA(), w.Head)
	}
	return ""
}

// refusedWrite says more of a write that the forge refused, where it can.
func (p *Provider) refusedWrite(ctx context.Context, at place, w bridge.Write, err error) error {
	reason, what, tool, needs, named := noSuchIssue, "issue", "repo_issue_list", "issues:write", ":write"
	if w.Kind != bridge.IssueComment {
		// A comment's address is of an issue, so that the forge may name issues; it asks for this all
		// the same.
		reason, what, tool, needs, named = noSuchPull, "pull request", "repo_pr_list", "pull_requests:write", "pull_requests"
	}
	var e *api.Error
	var said *answered
	if errors.As(err, &e) && e.Reason == noPermission && errors.As(err, &said) &&
		said.status == http.StatusForbidden && !strings.Contains(said.needs, named) {
		return permission(needs, said)
	}
	return p.absent(ctx, at, err, reason, fmt.Sprintf("%s has no %s %d; nothing was posted", at.Name, what, w.Number),
		"list what there is with "+tool)
}
