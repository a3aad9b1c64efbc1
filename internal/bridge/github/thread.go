package github

import (
	"context"
	"net/url"
	"slices"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

// maxView bounds a view in bytes of the indented JSON that an agent sees.
const maxView = 64 << 10

// talk is a conversation: the lists that its comments are in.
type talk struct {
	at      place
	streams []*stream // in the order of names
	lists   [][]string
}

// threadCursor has a position for each of the lists.
type threadCursor struct {
	Lists []position `json:"l"`
}

// add puts a list into the conversation. known is how many comments it has, where that is known
// to be none.
func add[F any](t *talk, p *Provider, known *int, convert func(F) api.Comment, list ...string) {
	s := &stream{first: t.at.under(url.Values{"per_page": {perPage}}, list...)}
	s.done = known != nil && *known == 0
	seen := map[string]loaded{}
	s.load = func(ctx context.Context, address string) ([]api.Comment, links, error) {
		if l, ok := seen[address]; ok {
			return slices.Clone(l.comments), l.links, nil
		}
		var page []F
		l, err := p.get(ctx, address, &page)
		if err != nil {
			return nil, l, err
		}
		comments := make([]api.Comment, 0, len(page))
		for _, one := range page {
			comments = append(comments, convert(one))
		}
		seen[address] = loaded{comments, l}
		return slices.Clone(comments), l, nil
	}
	t.streams, t.lists = append(t.streams, s), append(t.lists, list)
}

type loaded struct {
	comments []api.Comment
	links    links
}

// seek goes to where an earlier page of the conversation ended.
func (t *talk) seek(ctx context.Context, cursor string) error {
	if cursor == "" {
		return nil
	}
	var c threadCursor
	if err := decodeCursor(cursor, &c); err != nil {
		return err
	}
	if len(c.Lists) != len(t.streams) {
		return badCursor(nil)
	}
	for i, to := range c.Lists {
		page := ""
		if to.Page != "" {
			var err error
			if page, err = t.at.absolute(to.Page, t.lists[i]...); err != nil {
				return err
			}
		}
		if err := t.streams[i].seek(ctx, page, to); err != nil {
			return err
		}
	}
	return nil
}

// fill takes the newest comments while there is room, at least one, and gives them in order of
// time. used is what the rest of the view takes.
func (t *talk) fill(ctx context.Context, into *api.Thread, used int) error {
	into.Comments = []api.Comment{}
	for {
		s, next, err := t.newest(ctx)
		if err != nil {
			return err
		}
		if s == nil {
			break
		}
		used += indented(next, "    ")
		if used > maxView && len(into.Comments) > 0 {
			into.Truncated = true
			break
		}
		into.Comments = append(into.Comments, *next)
		s.take()
	}
	slices.Reverse(into.Comments)
	into.Returned = len(into.Comments)
	if into.Truncated {
		var c threadCursor
		for _, s := range t.streams {
			c.Lists = append(c.Lists, s.stands(t.at))
		}
		into.NextCursor = encodeCursor(c)
	}
	return nil
}

// newest finds the list that has the newest comment. What was never submitted has no time, and
// counts as new.
func (t *talk) newest(ctx context.Context) (*stream, *api.Comment, error) {
	var from *stream
	var newest *api.Comment
	for _, s := range t.streams {
		c, err := s.newest(ctx)
		if err != nil {
			return nil, nil, err
		}
		if c != nil && (newest == nil || later(c, newest)) {
			from, newest = s, c
		}
	}
	return from, newest, nil
}

func later(a, b *api.Comment) bool {
	if a.CreatedAt.IsZero() != b.CreatedAt.IsZero() {
		return a.CreatedAt.IsZero()
	}
	return a.CreatedAt.After(b.CreatedAt)
}

func conversationComment(c *gh.IssueComment) api.Comment {
	return api.Comment{
		ID: c.GetID(), Kind: api.KindComment, Author: author(c.User, c.GetAuthorAssociation()),
		CreatedAt: c.GetCreatedAt().UTC(), Edited: c.GetUpdatedAt().After(c.GetCreatedAt().Time),
		Text: text(c.GetBody()), URL: c.GetHTMLURL(),
	}
}
