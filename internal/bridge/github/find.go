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
	next, err := walkAll(ctx, p, at.under(query, "issues", strconv.Itoa(w.Number), "comments"), func(page []*gh.IssueComment) {
		for _, c := range page {
			if me.wrote(c.GetUser()) && !c.GetCreatedAt().Before(since) && sameText(c.GetBody(), w.Body) {
				found = writtenComment(c)
			}
		}
	})
	return found, unread(found, next, err)
}

// walkAll reads a list to its end, with full pages. What stands before an Enterprise server may drop
// the links: where a full page came without any, the next one is asked for by its number. It gives
// the address of the page after the last one that was read, or "" at the end.
func walkAll[T any](ctx context.Context, p *Provider, address string, take func(page []T)) (next string, err error) {
	for n := range maxPages {
		var page []T
		l, err := p.get(ctx, address, &page)
		if err != nil {
			return "", err
		}
		take(page)
		switch {
		case l.next != "":
			address = l.next
		case l != (links{}) || len(page) < fullPage:
			return "", nil
		default:
			u, err := url.Parse(address)
			if err != nil {
				return address, nil
			}
			query := u.Query()
			query.Set("page", strconv.Itoa(n+2))
			u.RawQuery = query.Encode()
			address = u.String()
		}
	}
	return address, nil
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
func (p *Provider) findReview(ctx context.Context, at place, w bridge.Write, me account, since time.Time) (*api.Written, error) {
	var found *api.Written
	query := url.Values{"per_page": {perPage}}
	next, err := walkAll(ctx, p, at.under(query, "pulls", strconv.Itoa(w.Number), "reviews"), func(page []*gh.PullRequestReview) {
		for _, r := range page {
			if me.wrote(r.GetUser()) && !r.GetSubmittedAt().Before(since) && sameText(r.GetBody(), w.Body) &&
				r.GetState() == states[w.Event] && (w.Head == "" || r.GetCommitID() == w.Head) {
				found = writtenReview(r)
			}
		}
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
