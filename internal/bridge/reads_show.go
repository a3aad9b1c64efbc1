package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"fleet/api"
)

const (
	// maxView bounds a view, a list of checks and logs, in bytes of the indented JSON that an agent
	// is shown.
	maxView = 64 << 10
	// cursorRoom is kept for a cursor and an age, which are added at the end.
	cursorRoom = 1 << 10
)

// show makes the cached answer this caller's: cut to size, with cursors that are his alone.
func (b *Broker) show(c *order, value any, at position, age *api.Age) (json.RawMessage, error) {
	s := shower{seal: func(p position) (string, error) { return b.sealer.seal(p, c.binding(c.grant.Ship)) }, at: at, age: age}
	switch v := value.(type) {
	case *api.RepoInfo:
		info := *v
		info.Repo, info.Age = c.Repo, age
		return encode(info)
	case *api.List[api.IssueItem]:
		return showList(s, *v)
	case *api.List[api.PullItem]:
		return showList(s, *v)
	case *api.IssueView:
		view := *v
		view.Thread.Comments = []api.Comment{}
		err := s.thread(&view.Thread, v.Thread.Comments, indentedSize(view, ""))
		return encoded(view, err)
	case *api.PullView:
		view := *v
		view.Thread.Comments = []api.Comment{}
		err := s.thread(&view.Thread, v.Thread.Comments, indentedSize(view, ""))
		return encoded(view, err)
	case *api.Checks:
		return s.checks(*v)
	case *api.FailedLogs:
		return s.logs(*v)
	}
	return nil, internal(fmt.Errorf("no way to show a %T", value))
}

func encoded(v any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, internal(err)
	}
	return encode(v)
}

// shower cuts an answer to size and seals what leads to the rest.
type shower struct {
	seal func(position) (string, error)
	at   position
	age  *api.Age
}

// next seals the way to what wasn't shown of the page, or to the provider's next page.
func (s shower) next(rest *position, page string) (cursor string, err error) {
	switch {
	case rest != nil:
		return s.seal(*rest)
	case page != "":
		return s.seal(position{Page: page, At: s.at.At})
	}
	return "", nil
}

func showList[T any](s shower, l api.List[T]) (json.RawMessage, error) {
	if l.Items == nil {
		l.Items = []T{}
	}
	l.Returned, l.Age = len(l.Items), s.age
	var err error
	l.NextCursor, err = s.next(nil, l.NextCursor)
	l.Truncated = l.Truncated || l.NextCursor != ""
	return encoded(l, err)
}

// thread fills t with the newest of a page's comments that fit beside what takes used bytes, of
// those that an earlier answer didn't show. At least one is shown.
func (s shower) thread(t *api.Thread, comments []api.Comment, used int) error {
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
	var err error
	t.NextCursor, err = s.next(rest, t.NextCursor)
	t.Truncated = t.Truncated || t.NextCursor != ""
	return err
}

func commentName(c api.Comment) string { return fmt.Sprintf("%s:%d", c.Kind, c.ID) }

func (s shower) checks(c api.Checks) (json.RawMessage, error) {
	all := c.Items
	c.Items, c.Target = []api.Check{}, *s.at.At
	shown := s.fit(len(all), indentedSize(c, ""), func(i int) int { return indentedSize(all[i], "    ") })
	c.Items = append(c.Items, all[s.start(len(all)):shown]...)
	c.Returned, c.Age = len(c.Items), s.age
	var err error
	c.NextCursor, err = s.next(s.remaining(shown, len(all)), c.NextCursor)
	c.Truncated = c.Truncated || c.NextCursor != ""
	return encoded(c, err)
}

func (s shower) logs(l api.FailedLogs) (json.RawMessage, error) {
	all := l.Jobs
	l.Jobs, l.Target = []api.FailedJob{}, *s.at.At
	base := indentedSize(l, "")
	shown := s.fit(len(all), base, func(i int) int { return indentedSize(all[i], "    ") })
	for _, job := range all[s.start(len(all)):shown] {
		l.Jobs = append(l.Jobs, cutJob(job, maxView-cursorRoom-base))
	}
	l.Age = s.age
	var err error
	l.NextCursor, err = s.next(s.remaining(shown, len(all)), l.NextCursor)
	l.Truncated = l.Truncated || l.NextCursor != ""
	return encoded(l, err)
}

// start is how many of n items earlier answers have shown.
func (s shower) start(n int) int { return min(s.at.Skip, n) }

// fit says up to which of n items, of these sizes, there is room beside what takes used bytes.
// There is always room for one.
func (s shower) fit(n, used int, size func(i int) int) int {
	from := s.start(n)
	for i := from; i < n; i++ {
		if used += size(i); used > maxView-cursorRoom && i > from {
			return i
		}
	}
	return n
}

func (s shower) remaining(shown, n int) *position {
	if shown >= n {
		return nil
	}
	return &position{Page: s.at.Page, Skip: shown, At: s.at.At}
}

// cutJob takes from the middle of a job's excerpt what there is no room for at all.
func cutJob(job api.FailedJob, room int) api.FailedJob {
	over := indentedSize(job, "    ") - room
	if over <= 0 {
		return job
	}
	const mark = "\n[cut here by the bridge]\n"
	// Escapes make text longer on its way into JSON, never shorter: so this is enough.
	keep := max(len(job.Excerpt)-over-2*len(mark), 0)
	head, tail := keep/2, len(job.Excerpt)-keep/2
	for head > 0 && !utf8.RuneStart(job.Excerpt[head]) {
		head--
	}
	for tail < len(job.Excerpt) && !utf8.RuneStart(job.Excerpt[tail]) {
		tail++
	}
	job.Excerpt = job.Excerpt[:head] + mark + job.Excerpt[tail:]
	return job
}

// indentedSize is how many bytes v takes, with its comma and end of line, in JSON indented by two
// blanks.
func indentedSize(v any, prefix string) int {
	raw, err := encode(v)
	if err != nil {
		return 0
	}
	var out bytes.Buffer
	if json.Indent(&out, raw, prefix, "  ") != nil {
		return len(raw)
	}
	return len(prefix) + out.Len() + 2
}
