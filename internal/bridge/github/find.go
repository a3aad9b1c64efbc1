package github

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

// Find looks for what w left: the newest comment or review at its target by the credential's own
// account, not older than since, with the same text; a review also with the same verdict and
// commit. The forge's times have no fractions of a second; since is by its clock.
func (p *Provider) Find(ctx context.Context, r bridge.Repo, w bridge.Write, since time.Time) (*api.Written, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	me, err := p.me(ctx, at)
	if err != nil {
		return nil, err
	}
	since = since.UTC().Truncate(time.Second)
	if w.Kind == bridge.PullReview {
		return p.findReview(ctx, at, w, me, since)
	}
	var found *api.Written
	query := url.Values{"since": {since.Format(time.RFC3339)}, "per_page": {perPage}}
	next, err := walk(ctx, p, at.under(query, "issues", strconv.Itoa(w.Number), "comments"), maxPages, func(_ string, page []*gh.IssueComment) bool {
		for _, c := range page {
			if sameLogin(c.GetUser().GetLogin(), me) && !c.GetCreatedAt().Before(since) && sameText(c.GetBody(), w.Body) {
				found = &api.Written{ID: c.GetID(), URL: c.GetHTMLURL(), CreatedAt: c.GetCreatedAt().UTC()}
			}
		}
		return true
	})
	return found, unread(found, next, err)
}

// unread is the error for what was not found in a list that was not read to its end: that it is
// not there, nobody knows.
func unread(found *api.Written, next string, err error) error {
	if err == nil && found == nil && next != "" {
		return &api.Error{Code: api.Unavailable, Reason: "list_too_long", Message: "there is too much to look through on the forge"}
	}
	return err
}

// findReview reads all reviews: the forge gives them oldest first, and takes no time.
func (p *Provider) findReview(ctx context.Context, at place, w bridge.Write, me string, since time.Time) (*api.Written, error) {
	var found *api.Written
	query := url.Values{"per_page": {perPage}}
	next, err := walk(ctx, p, at.under(query, "pulls", strconv.Itoa(w.Number), "reviews"), maxPages, func(_ string, page []*gh.PullRequestReview) bool {
		for _, r := range page {
			if sameLogin(r.GetUser().GetLogin(), me) && !r.GetSubmittedAt().Before(since) && sameText(r.GetBody(), w.Body) &&
				r.GetState() == states[w.Event] && (w.Head == "" || r.GetCommitID() == w.Head) {
				found = writtenReview(r)
			}
		}
		return true
	})
	return found, unread(found, next, err)
}

// sameText compares what was sent with what the forge kept of it: it may change line ends, and
// drops blanks at the end.
func sameText(a, b string) bool { return normalText(a) == normalText(b) }

func normalText(s string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
