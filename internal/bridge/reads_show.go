package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fleet/api"
)

const (
	// maxView bounds a view, a list of checks and logs, in bytes of the indented JSON that an agent
	// is shown.
	maxView = 64 << 10
	// cursorRoom is kept for a cursor and an age, which are added at the end.
	cursorRoom = 1 << 10
)

// cursorMark stands in a rendered answer for a cursor, which each caller gets for himself. No text
// of an answer is encoded like this: a NUL is cleaned away, and a backslash is escaped.
const (
	cursorMark    = "\x00next\x00"
	cursorEncoded = `"\u0000next\u0000"`
)

// rendered is an answer in JSON, the same for everyone, up to its cursors.
type rendered struct {
	raw   json.RawMessage // holds cursorEncoded once for each of nexts
	nexts []position      // what the cursors lead to, in the order in which they stand in raw
}

// view is what of a cached answer is shown.
type view struct {
	repo   string
	before string
	skip   int
	commit api.Resolved // without its author
	author api.Author
}

// show makes the cached answer this caller's: cut to size, with a cursor that is his alone.
func (b *Broker) show(c *order, e *entry, at position, age *api.Age) (json.RawMessage, error) {
	v := view{repo: c.Repo, before: at.Before, skip: at.Skip}
	if at.At != nil {
		v.commit = *at.At
		if by := v.commit.Author; by != nil {
			v.commit.Author, v.author = nil, *by
		}
	}
	r := b.reads.shown(e, v)
	if r == nil || age != nil {
		var err error
		if r, err = render(c.Repo, e.value, at, age); err != nil {
			return nil, err
		}
		if age == nil {
			b.reads.keepShown(e, v, r)
		}
	}
	return b.sealAll(r, c.binding(c.grant.Ship))
}

// sealAll puts the caller's own cursors into their places.
func (b *Broker) sealAll(r *rendered, binding string) (json.RawMessage, error) {
	if len(r.nexts) == 0 {
		return r.raw, nil
	}
	var whole []byte
	rest := []byte(r.raw)
	for _, next := range r.nexts {
		cursor, err := b.sealer.seal(next, binding)
		if err != nil {
			return nil, internal(err)
		}
		before, after, _ := bytes.Cut(rest, []byte(cursorEncoded))
		whole = append(whole, before...)
		whole = append(append(append(whole, '"'), cursor...), '"')
		rest = after
	}
	return append(whole, rest...), nil
}

func render(repo string, value any, at position, age *api.Age) (*rendered, error) {
	s := &shower{at: at, age: age}
	var shown any
	switch v := value.(type) {
	case *api.RepoInfo:
		info := *v
		info.Repo, info.Age = repo, age
		shown = info
	case *api.List[api.IssueItem]:
		shown = showList(s, *v)
	case *api.List[api.PullItem]:
		shown = showList(s, *v)
	case *api.IssueView:
		view := *v
		view.Thread.Comments = []api.Comment{}
		s.thread(&view.Thread, v.Thread.Comments, indentedSize(view, ""))
		shown = view
	case *api.PullView:
		view := *v
		view.Thread.Comments = []api.Comment{}
		s.thread(&view.Thread, v.Thread.Comments, indentedSize(view, ""))
		shown = view
	case *api.Checks:
		shown = s.checks(*v)
	case *api.FailedLogs:
		shown = s.logs(*v)
	default:
		return nil, internal(fmt.Errorf("no way to show a %T", value))
	}
	raw, err := encode(shown)
	return &rendered{raw, s.nexts}, err
}

// shower cuts an answer to size and notes what leads to the rest.
type shower struct {
	at    position
	age   *api.Age
	nexts []position // in the order in which their marks stand in the answer
}

// next notes the way to what wasn't shown of the page, or to the provider's next page, and gives
// what stands for it.
func (s *shower) next(rest *position, page string) (mark string) {
	switch {
	case rest != nil:
		s.nexts = append(s.nexts, *rest)
	case page != "":
		s.nexts = append(s.nexts, position{Page: page, At: s.at.At})
	default:
		return ""
	}
	return cursorMark
}

func showList[T any](s *shower, l api.List[T]) api.List[T] {
	if l.Items == nil {
		l.Items = []T{}
	}
	l.Returned, l.Age = len(l.Items), s.age
	l.NextCursor = s.next(nil, l.NextCursor)
	l.Truncated = l.Truncated || l.NextCursor != ""
	return l
}

// thread fills t with the newest of a page's comments that fit beside what takes used bytes, of
// those that an earlier answer didn't show. At least one is shown.
func (s *shower) thread(t *api.Thread, comments []api.Comment, used int) {
	for i, one := range comments {
		if s.at.Before != "" && commentName(one) == s.at.Before {
			comments = comments[:i]
			break
		}
	}
	first := len(comments)
	for first > 0 {
		used += indentedSize(comments[first-1], "    ")
		if used > maxView-cursorRoom && first < len(comments) {
			break
		}
		first--
	}
	var rest *position
	if first > 0 {
		rest = &position{Page: s.at.Page, Before: commentName(comments[first])}
	}
	t.Comments = append(t.Comments, comments[first:]...)
	t.Returned, t.Age = len(t.Comments), s.age
	t.NextCursor = s.next(rest, t.NextCursor)
	t.Truncated = t.Truncated || t.NextCursor != ""
}

func commentName(c api.Comment) string { return fmt.Sprintf("%s:%d", c.Kind, c.ID) }

func (s *shower) checks(c api.Checks) api.Checks {
	all := c.Items
	c.Items, c.Target = []api.Check{}, *s.at.At
	if c.Counts == nil {
		c.Counts = map[string]int{}
	}
	shown := s.fit(len(all), indentedSize(c, ""), func(i int) int { return indentedSize(all[i], "    ") })
	c.Items = append(c.Items, all[s.start(len(all)):shown]...)
	c.Returned, c.Age = len(c.Items), s.age
	c.NextCursor = s.next(s.remaining(shown, len(all)), c.NextCursor)
	c.Truncated = c.Truncated || c.NextCursor != ""
	return c
}

func (s *shower) logs(l api.FailedLogs) api.FailedLogs {
	all := l.Jobs
	l.Jobs, l.Target = []api.FailedJob{}, *s.at.At
	base := indentedSize(l, "")
	shown := s.fit(len(all), base, func(i int) int {
		size := indentedSize(all[i], "    ")
		if all[i].NextCursor != "" {
			size += cursorRoom / 2 // sealed, it is longer
		}
		return size
	})
	for _, job := range all[s.start(len(all)):shown] {
		job.NextCursor = s.next(nil, job.NextCursor)
		if job.Names == nil {
			job.Names = []string{}
		}
		l.Jobs = append(l.Jobs, cutJob(job, maxView-cursorRoom-base))
	}
	l.Age = s.age
	l.NextCursor = s.next(s.remaining(shown, len(all)), l.NextCursor)
	l.Truncated = l.Truncated || l.NextCursor != ""
	return l
}
