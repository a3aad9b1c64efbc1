package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	noSuchPull = "no_such_pull"
	// reviewPages bounds how many reviews are read for the verdicts: 1,000.
	reviewPages = 10
)

// Pull gives a pull request with the newest of its comments, reviews and review comments.
// See https://docs.github.com/rest/pulls/pulls#get-a-pull-request.
func (p *Provider) Pull(ctx context.Context, r bridge.Repo, n int, cursor string) (*api.PullView, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	pull, err := p.pull(ctx, at, n)
	if err != nil {
		return nil, err
	}
	view := pullView(pull, cursor != "")
	t := &talk{at: at}
	add(t, p, pull.Comments, conversationComment, "issues", strconv.Itoa(n), "comments")
	add(t, p, nil, reviewOf(view.HeadSHA), "pulls", strconv.Itoa(n), "reviews")
	add(t, p, pull.ReviewComments, lineComment, "pulls", strconv.Itoa(n), "comments")
	reviews, err := verdicts(ctx, t.streams[1], view)
	if err != nil {
		return nil, err
	}
	if err := t.seek(ctx, cursor); err != nil {
		return nil, err
	}
	if reviews >= 0 && pull.Comments != nil && pull.ReviewComments != nil {
		view.Total = gh.Ptr(reviews + pull.GetComments() + pull.GetReviewComments())
	}
	view.Comments = []api.Comment{}
	if err := t.fill(ctx, &view.Thread, indented(view, "")+threadRoom); err != nil {
		return nil, err
	}
	p.settle(ctx, at, n, &view.Thread)
	return view, nil
}

// Head is the commit that a pull request's branch points to now.
func (p *Provider) Head(ctx context.Context, r bridge.Repo, n int) (string, error) {
	at, err := placeOf(r)
	if err != nil {
		return "", err
	}
	pull, err := p.pull(ctx, at, n)
	return pull.GetHead().GetSHA(), err
}

func (p *Provider) pull(ctx context.Context, at place, n int) (*gh.PullRequest, error) {
	var pull gh.PullRequest
	if _, err := p.get(ctx, at.under(nil, "pulls", strconv.Itoa(n)), &pull); err != nil {
		return nil, p.absent(ctx, at, err, noSuchPull, fmt.Sprintf("%s has no pull request %d", at.Name, n),
			"list the pull requests with repo_pr_list; an issue has this number perhaps: repo_issue_view")
	}
	return &pull, nil
}

func pullView(pull *gh.PullRequest, older bool) *api.PullView {
	view := &api.PullView{
		Kind: "pull", PullItem: pullItem(pull), CreatedAt: pull.GetCreatedAt().UTC(), BaseSHA: pull.GetBase().GetSHA(),
		Mergeable: "unknown", MergeState: pull.GetMergeableState(), Locked: pull.GetLocked(),
		Commits: pull.GetCommits(), ChangedFiles: pull.GetChangedFiles(), Additions: pull.GetAdditions(), Deletions: pull.GetDeletions(),
		Reviewers: logins(pull.RequestedReviewers), Text: text(pull.GetBody()),
	}
	for _, team := range pull.RequestedTeams {
		view.Reviewers = append(view.Reviewers, "team "+team.GetSlug())
	}
	if pull.Mergeable != nil { // null while GitHub still computes it
		view.Mergeable = map[bool]string{true: "yes", false: "no"}[*pull.Mergeable]
	}
	if older {
		view.Text = omitted(view.Text)
	}
	return view
}

// verdicts finds where each reviewer stands, and gives how many reviews there are; -1: too many
// to read.
func verdicts(ctx context.Context, reviews *stream, view *api.PullView) (int, error) {
	count := 0
	var order []string
	last := map[string]api.Verdict{}
	address := reviews.first
	for range reviewPages {
		page, l, err := reviews.load(ctx, address)
		if err != nil {
			return 0, err
		}
		count += len(page)
		for _, r := range page {
			if r.State == "COMMENTED" || r.State == "PENDING" {
				continue
			}
			who := r.Author.Login
			order = append(slices.DeleteFunc(order, func(login string) bool { return login == who }), who)
			last[who] = api.Verdict{Author: r.Author, State: r.State, Stale: r.Stale}
		}
		if address = l.next; address == "" {
			break
		}
	}
	for _, login := range order {
		view.Verdicts = append(view.Verdicts, last[login])
	}
	if address != "" {
		view.Incomplete = append(view.Incomplete, fmt.Sprintf("verdicts: only the first %d reviews were read for them", count))
		return -1, nil
	}
	return count, nil
}

func reviewOf(head string) func(*gh.PullRequestReview) api.Comment {
	return func(r *gh.PullRequestReview) api.Comment {
		return api.Comment{
			ID: r.GetID(), Kind: api.KindReview, Author: author(r.User, r.GetAuthorAssociation()),
			CreatedAt: r.GetSubmittedAt().UTC(), Text: text(r.GetBody()), URL: r.GetHTMLURL(),
			State: r.GetState(), CommitSHA: r.GetCommitID(), Stale: r.GetCommitID() != head,
		}
	}
}

func lineComment(c *gh.PullRequestComment) api.Comment {
	return api.Comment{
		ID: c.GetID(), Kind: api.KindReviewComment, Author: author(c.User, c.GetAuthorAssociation()),
		CreatedAt: c.GetCreatedAt().UTC(), Edited: c.GetUpdatedAt().After(c.GetCreatedAt().Time),
		Text: text(c.GetBody()), URL: c.GetHTMLURL(), CommitSHA: c.GetCommitID(),
		Path: c.GetPath(), Line: c.GetLine(), InReplyTo: c.GetInReplyTo(),
		// A comment on a line that is not in the difference any more has lost it.
		Outdated: c.Line == nil && c.Position == nil && c.GetSubjectType() != "file",
	}
}
