package github

import (
	"context"
	"net/url"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	maxItems = 100
	// refillPages bounds how long a page of issues is filled up where the forge's list holds
	// almost only pull requests.
	refillPages = 10
)

// Issues lists issues. GitHub's list has pull requests in it, which are left out; where that
// leaves too little, further pages are read.
// See https://docs.github.com/rest/issues/issues#list-repository-issues.
func (p *Provider) Issues(ctx context.Context, r bridge.Repo, state, cursor string) (*api.List[api.IssueItem], error) {
	return list(ctx, p, r, "issues", state, cursor, func(i *gh.Issue) (api.IssueItem, bool) {
		return fitIssue(issueItem(i)), !i.IsPullRequest()
	})
}

// Pulls lists pull requests; "closed" has the merged ones in it.
// See https://docs.github.com/rest/pulls/pulls#list-pull-requests.
func (p *Provider) Pulls(ctx context.Context, r bridge.Repo, state, cursor string) (*api.List[api.PullItem], error) {
	return list(ctx, p, r, "pulls", state, cursor, func(pull *gh.PullRequest) (api.PullItem, bool) {
		return fitPull(pullItem(pull)), true
	})
}

// listCursor is where a list goes on: at one of the forge's pages, after some of its items.
type listCursor struct {
	Page string `json:"p"`
	Skip int    `json:"s,omitempty"`
}

// list reads pages until there are maxItems that convert keeps. An item of the forge's list that
// is not for ours counts towards nothing.
func list[F, T any](ctx context.Context, p *Provider, r bridge.Repo, kind, state, cursor string, convert func(F) (T, bool)) (*api.List[T], error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	from, err := at.listStart(kind, state, cursor)
	if err != nil {
		return nil, err
	}
	found := &api.List[T]{Items: []T{}}
	skip, rest := from.Skip, ""
	next, err := walk(ctx, p, from.Page, refillPages, func(page string, items []F) bool {
		for i := min(skip, len(items)); i < len(items); i++ {
			if len(found.Items) == maxItems {
				rest = encodeCursor(listCursor{Page: at.relative(page), Skip: i})
				return false
			}
			if item, ok := convert(items[i]); ok {
				found.Items = append(found.Items, item)
			}
		}
		skip = 0
		return len(found.Items) < maxItems
	})
	if err != nil {
		return nil, p.absent(ctx, at, err, "no_list", "the forge has no such list for this repository", "")
	}
	if rest == "" && next != "" {
		rest = encodeCursor(listCursor{Page: at.relative(next)})
	}
	found.Returned, found.NextCursor, found.Truncated = len(found.Items), rest, rest != ""
	return found, nil
}

func (at place) listStart(kind, state, cursor string) (listCursor, error) {
	switch state {
	case "":
		state = "open"
	case "open", "closed", "all":
	default:
		return listCursor{}, &api.Error{Code: api.Invalid, Reason: "bad_state", Message: "state is open, closed or all"}
	}
	if cursor == "" {
		query := url.Values{"state": {state}, "sort": {"updated"}, "direction": {"desc"}, "per_page": {perPage}}
		return listCursor{Page: at.under(query, kind)}, nil
	}
	var c listCursor
	if err := decodeCursor(cursor, &c); err != nil {
		return c, err
	}
	var err error
	c.Page, err = at.absolute(c.Page, kind)
	return c, err
}

func issueItem(i *gh.Issue) api.IssueItem {
	return api.IssueItem{
		Number: i.GetNumber(), Title: i.GetTitle(), State: i.GetState(),
		Author: author(i.User, i.GetAuthorAssociation()), Labels: labelNames(i.Labels),
		CommentCount: i.GetComments(), UpdatedAt: i.GetUpdatedAt().UTC(), URL: i.GetHTMLURL(),
	}
}

func pullItem(pull *gh.PullRequest) api.PullItem {
	item := api.PullItem{
		Number: pull.GetNumber(), Title: pull.GetTitle(), State: pull.GetState(), Draft: pull.GetDraft(),
		Author: author(pull.User, pull.GetAuthorAssociation()), Labels: labelNames(pull.Labels),
		Head: pull.GetHead().GetRef(), Base: pull.GetBase().GetRef(), HeadSHA: pull.GetHead().GetSHA(),
		UpdatedAt: pull.GetUpdatedAt().UTC(), URL: pull.GetHTMLURL(),
	}
	if pull.GetMerged() || !pull.GetMergedAt().IsZero() {
		item.State = "merged"
	}
	// A fork that was deleted has no repository any more; the label still names its owner.
	if pull.GetHead().GetRepo().GetID() != pull.GetBase().GetRepo().GetID() && pull.GetHead().GetLabel() != "" {
		item.Head = pull.GetHead().GetLabel()
	}
	return item
}
