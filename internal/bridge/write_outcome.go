package bridge

import (
	"context"
	"fmt"
	"time"

	"fleet/api"
)

// duplicate is the outcome for whoever asked for the same again.
func (i *intent) duplicate() api.Written {
	same := *i.Written
	same.DuplicateOf = same.URL
	same.Note = "the same text was posted at " + i.StartedAt.Format(time.RFC3339) +
		"; nothing was posted now. Other words, or the same ones after ten minutes, are posted"
	return same
}

func busy(err error) error {
	return &api.Error{
		Code: api.Unavailable, Reason: reasonBusy, Message: "the same call is still under way",
		Hint: "wait a minute, then look whether it was posted", Err: err,
	}
}

// unknownOutcome says what an agent can do about a write that may or may not have been done.
func (b *Broker) unknownOutcome(ctx context.Context, c *order, i *intent) error {
	what := "comment"
	if i.Write.Kind == PullReview {
		what = "review"
	}
	e := &api.Error{
		Code: api.OutcomeUnknown, Reason: "write_outcome_unknown",
		Message: fmt.Sprintf("the connection to the forge broke after the %s on %d was sent: it may have been posted, though the bridge does not find it", what, i.Write.Number),
	}
	if why := i.neverSure(context.WithoutCancel(ctx), c); why != "" {
		e.Hint = fmt.Sprintf("look with %s whether it is there, and do not send the same text again: %s, so the bridge cannot tell and will not post it; "+
			"if it isn't there, tell a human, who must decide", i.viewer(), why)
		return e
	}
	e.RetryAfterSeconds = max(int((settleTime-max(b.desk.store.age(i), 0))/time.Second), 0)
	e.Hint = fmt.Sprintf("look with %s whether it is there; if it isn't, call again with exactly the same text: the bridge looks once more before it posts", i.viewer())
	return e
}

// neverSure says why no look can show that i is not on the forge, or "".
func (i *intent) neverSure(ctx context.Context, c *order) string {
	switch {
	case i.Path != c.resource():
		return "the repository was registered at another address when it was sent"
	case !i.ClockKnown:
		return "the bridge ended as it was sent and had not learned what time the forge has"
	case !c.forge.signsAs(ctx, i.Signer):
		return "the bridge's credential for the forge is not the one that it was sent with"
	}
	return ""
}

// viewer is the call that shows an agent what is at i's target.
func (i *intent) viewer() string { return viewerOf(i.Write.Kind == IssueComment, i.Write.Number) }

func viewerOf(issue bool, number int) string {
	tool := "repo_pr_view"
	if issue {
		tool = "repo_issue_view"
	}
	return fmt.Sprintf("%s number %d", tool, number)
}
