package github

import (
	"context"
	"fmt"
	"strconv"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

const noSuchIssue = "no_such_issue"

// Issue gives an issue with its newest comments, or, with a note, the pull request of that number:
// to GitHub each pull request is an issue too.
// See https://docs.github.com/rest/issues/issues#get-an-issue.
func (p *Provider) Issue(ctx context.Context, r bridge.Repo, n int, cursor string) (*api.IssueView, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	issue, err := p.issue(ctx, at, n)
	if err != nil {
		return nil, err
	}
	view := issueView(issue, cursor != "")
	t := &talk{at: at}
	add(t, p, issue.Comments, conversationComment, "issues", strconv.Itoa(n), "comments")
	if err := t.seek(ctx, cursor); err != nil {
		return nil, err
	}
	view.Total = issue.Comments
	view.Comments = []api.Comment{}
	if err := t.fill(ctx, &view.Thread, indented(view, "")); err != nil {
		return nil, err
	}
	return view, nil
}

func (p *Provider) issue(ctx context.Context, at place, n int) (*gh.Issue, error) {
	var issue gh.Issue
	if _, err := p.get(ctx, at.under(nil, "issues", strconv.Itoa(n)), &issue); err != nil {
		return nil, p.absent(ctx, at, err, noSuchIssue, fmt.Sprintf("%s has no issue %d", at.Name, n), "list the issues with repo_issue_list")
	}
	return &issue, nil
}

func issueView(issue *gh.Issue, older bool) *api.IssueView {
	view := &api.IssueView{
		Kind: "issue", IssueItem: issueItem(issue), CreatedAt: issue.GetCreatedAt().UTC(), Locked: issue.GetLocked(),
		Milestone: issue.GetMilestone().GetTitle(), Assignees: logins(issue.Assignees), Text: text(issue.GetBody()),
	}
	if issue.IsPullRequest() {
		view.Kind = "pull"
		view.Note = fmt.Sprintf("%d is a pull request: use repo_pr_view for its reviews, its review comments and its branches", issue.GetNumber())
	}
	if older {
		view.Text = omitted(view.Text)
	}
	return view
}

// omitted takes the text out of a view of older comments: the first page had it.
func omitted(t api.Text) api.Text { return api.Text{Truncated: t.Body != ""} }
