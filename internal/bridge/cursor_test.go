package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fleet/api"
)

// pages is a list of three pages, with the provider's own cursors.
func pages(cursor string) (*api.List[api.IssueItem], error) {
	next := map[string]string{"": "two", "two": "three", "three": ""}
	following, ok := next[cursor]
	if !ok {
		return nil, fmt.Errorf("a cursor that is none of ours: %q", cursor)
	}
	return &api.List[api.IssueItem]{Items: []api.IssueItem{{Title: cursor}}, NextCursor: following}, nil
}

func TestACursorLeadsOnAndOnlyWhereItWasGiven(t *testing.T) {
	f := &fakeForge{issues: pages}
	b := openBench(t, "", f)
	_, other := b.grantShip(t, "alpha", "widgets", "read")
	own := Request{Op: OpIssueList, Repo: "widgets", Workspace: "main", State: "open"}
	raw, err := b.do(own)
	first := decode[api.List[api.IssueItem]](t, raw, err)
	if !first.Truncated || first.NextCursor == "" || strings.Contains(first.NextCursor, "two") {
		t.Fatalf("first page %+v, want a sealed cursor", first)
	}
	follow := own
	for _, want := range []string{"two", "three"} {
		follow.Cursor = first.NextCursor
		raw, err := b.do(follow)
		if first = decode[api.List[api.IssueItem]](t, raw, err); first.Items[0].Title != want {
			t.Errorf("page %q, want %q", first.Items[0].Title, want)
		}
	}
	if first.NextCursor != "" || first.Truncated {
		t.Errorf("last page %+v, want no cursor", first)
	}
	raw, err = b.do(own)
	cursor := decode[api.List[api.IssueItem]](t, raw, err).NextCursor
	flipped := []byte(cursor)
	flipped[20] ^= 1
	foreign := map[string]struct {
		caller Caller
		change func(*Request)
	}{
		"another ship":        {other, func(*Request) {}},
		"another workspace":   {nil, func(r *Request) { r.Workspace = "other" }},
		"another repo":        {nil, func(r *Request) { r.Repo = "gadgets" }},
		"another state":       {nil, func(r *Request) { r.State = "all" }},
		"another operation":   {nil, func(r *Request) { r.Op = OpPRList }},
		"a view":              {nil, func(r *Request) { r.Op, r.Number = OpIssueView, 7 }},
		"a target":            {nil, func(r *Request) { r.Op, r.Target = OpChecks, api.Target{Pull: 7} }},
		"altered":             {nil, func(r *Request) { r.Cursor = string(flipped) }},
		"cut":                 {nil, func(r *Request) { r.Cursor = cursor[:len(cursor)-4] }},
		"the provider's own":  {nil, func(r *Request) { r.Cursor = "two" }},
		"with an end of line": {nil, func(r *Request) { r.Cursor = cursor + "\n" }},
		"padded":              {nil, func(r *Request) { r.Cursor = cursor + "=" }},
		"endless":             {nil, func(r *Request) { r.Cursor = strings.Repeat("A", maxCursor+4) }},
	}
	for name, c := range foreign {
		t.Run(name, func(t *testing.T) {
			r := own
			r.Cursor = cursor
			c.change(&r)
			caller := c.caller
			if caller == nil {
				caller = b.As(b.Local())
			}
			_, err := caller.Do(t.Context(), r)
			if e := expectError(t, err, "invalid/bad_cursor"); !strings.Contains(e.Hint, "without cursor") {
				t.Errorf("hint %q", e.Hint)
			}
		})
	}
	defaulted := own
	defaulted.State, defaulted.Cursor = "", cursor
	if _, err := b.do(defaulted); err != nil {
		t.Errorf("state left out, which is open: %v", err)
	}
}

func TestACursorOutlivesARestart(t *testing.T) {
	f := &fakeForge{issues: pages}
	b := openBench(t, "", f)
	ship, caller := b.grantShip(t, "alpha", "widgets", "read")
	r := Request{Op: OpIssueList, Repo: "widgets"}
	raw, err := caller.Do(t.Context(), r)
	r.Cursor = decode[api.List[api.IssueItem]](t, raw, err).NextCursor
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := openBench(t, b.dir, f)
	raw, err = again.As(ship).Do(t.Context(), r)
	if l := decode[api.List[api.IssueItem]](t, raw, err); l.Items[0].Title != "two" {
		t.Errorf("page %+v, want the second", l)
	}
}

func indented(t *testing.T, raw json.RawMessage) int {
	t.Helper()
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	return text.Len()
}

func TestALongThreadIsShownInPartsThatReachEveryComment(t *testing.T) {
	const pageSize, total = 100, 300
	f := &fakeForge{}
	f.issue = func(_ context.Context, n int, cursor string) (*api.IssueView, error) {
		last := total // the newest comes on the first page
		if cursor != "" {
			if _, err := fmt.Sscan(cursor, &last); err != nil {
				return nil, err
			}
		}
		v := &api.IssueView{IssueItem: api.IssueItem{Number: n}, Text: api.Text{Body: strings.Repeat("b", 8<<10)}}
		for id := last - pageSize + 1; id <= last; id++ {
			v.Thread.Comments = append(v.Thread.Comments, api.Comment{
				ID: int64(id), Kind: api.KindComment, Text: api.Text{Body: strings.Repeat("é<\"\n", 100+id%7*200)},
			})
		}
		if last > pageSize {
			v.NextCursor = fmt.Sprint(last - pageSize)
		}
		return v, nil
	}
	b := openBench(t, "", f)
	r := Request{Op: OpIssueView, Repo: "widgets", Number: 7}
	want := total
	for calls := 0; ; calls++ {
		raw, err := b.do(r)
		v := decode[api.IssueView](t, raw, err)
		if size := indented(t, raw); size > maxView {
			t.Errorf("a part has %d bytes, want at most %d", size, maxView)
		}
		shown := v.Thread.Comments
		if len(shown) == 0 || len(shown) != v.Returned || shown[len(shown)-1].ID != int64(want) || calls > total {
			t.Fatalf("part %d ends with %+v, want comment %d", calls, shown[max(len(shown)-1, 0):], want)
		}
		want = int(shown[0].ID) - 1
		if v.NextCursor == "" {
			break
		}
		if !v.Thread.Truncated {
			t.Error("there is more, and it isn't said")
		}
		r.Cursor = v.NextCursor
	}
	if want != 0 {
		t.Errorf("the parts end before comment %d", want)
	}
	if n := f.called("Issue"); n != 3 {
		t.Errorf("%d pages were read, want three", n)
	}
}

func TestOneCommentIsAlwaysShown(t *testing.T) {
	f := &fakeForge{}
	f.issue = func(context.Context, int, string) (*api.IssueView, error) {
		v := &api.IssueView{}
		for id := range 3 {
			v.Thread.Comments = append(v.Thread.Comments, api.Comment{ID: int64(id), Text: api.Text{Body: strings.Repeat("x", maxView)}})
		}
		return v, nil
	}
	b := openBench(t, "", f)
	raw, err := b.do(Request{Op: OpIssueView, Repo: "widgets", Number: 7})
	if v := decode[api.IssueView](t, raw, err); v.Returned != 1 || v.Thread.Comments[0].ID != 2 || v.NextCursor == "" {
		t.Errorf("%d comments from %d on, want the newest alone", v.Returned, v.Thread.Comments[0].ID)
	}
}

func TestManyChecksComeInPartsOfOneCommit(t *testing.T) {
	f := &fakeForge{}
	f.checks = func(at api.Resolved) (*api.Checks, error) {
		c := &api.Checks{Overall: api.BucketFail, Counts: map[string]int{api.BucketFail: 700}}
		for n := range 700 {
			c.Items = append(c.Items, api.Check{Name: fmt.Sprintf("test (%d, %s)", n, strings.Repeat("x", 60)), Bucket: api.BucketFail})
		}
		return c, nil
	}
	b := openBench(t, "", f)
	r := checksOf(7)
	seen := 0
	for {
		raw, err := b.do(r)
		c := decode[api.Checks](t, raw, err)
		if indented(t, raw) > maxView || c.Returned == 0 || c.Target.SHA != headSHA || c.Target.Pull != 7 || c.Counts["fail"] != 700 {
			t.Fatalf("part with %d checks of %+v in %d bytes", c.Returned, c.Target, indented(t, raw))
		}
		if !strings.HasPrefix(c.Items[0].Name, fmt.Sprintf("test (%d,", seen)) {
			t.Errorf("part begins with %q, want check %d", c.Items[0].Name, seen)
		}
		seen += c.Returned
		if r.Cursor = c.NextCursor; r.Cursor == "" {
			break
		}
	}
	if seen != 700 || f.called("Checks") != 1 || f.called("Resolve") != 1 {
		t.Errorf("%d checks after %d calls and %d resolves, want all 700 after one of each", seen, f.called("Checks"), f.called("Resolve"))
	}
}

func TestLogsStayWithinTheirSize(t *testing.T) {
	f := &fakeForge{}
	f.logs = func(at api.Resolved) (*api.FailedLogs, error) {
		l := &api.FailedLogs{}
		for n := range 9 {
			l.Jobs = append(l.Jobs, api.FailedJob{Names: []string{fmt.Sprint(n)}, Excerpt: strings.Repeat("a \"quoted\" line\n", 1024)})
		}
		l.Jobs[4].Excerpt = "begin" + strings.Repeat("日", 40<<10) + "end"
		return l, nil
	}
	b := openBench(t, "", f)
	r := Request{Op: OpFailedLogs, Repo: "widgets", Target: api.Target{Branch: "main", SHA: headSHA}}
	var names []string
	for {
		raw, err := b.do(r)
		l := decode[api.FailedLogs](t, raw, err)
		if size := indented(t, raw); size > maxView || len(l.Jobs) == 0 {
			t.Fatalf("part with %d jobs in %d bytes", len(l.Jobs), size)
		}
		for _, job := range l.Jobs {
			names = append(names, job.Names...)
			if job.Names[0] == "4" && !(strings.HasPrefix(job.Excerpt, "begin日") && strings.HasSuffix(job.Excerpt, "日end") && strings.Contains(job.Excerpt, "[cut here")) {
				t.Errorf("the long excerpt is %.20q … %q", job.Excerpt, job.Excerpt[len(job.Excerpt)-20:])
			}
		}
		if r.Cursor = l.NextCursor; r.Cursor == "" {
			break
		}
	}
	if got := strings.Join(names, ""); got != "012345678" {
		t.Errorf("jobs %s, want each once", got)
	}
}

// A job's own cursor leads on in its log, beside the one that leads to further jobs.
func TestEachJobsCursorIsSealedAndLeadsToItsOwnLog(t *testing.T) {
	f := &fakeForge{}
	f.logs = func(at api.Resolved) (*api.FailedLogs, error) {
		l := &api.FailedLogs{NextCursor: "further jobs"}
		for n := range 3 {
			l.Jobs = append(l.Jobs, api.FailedJob{Names: []string{fmt.Sprint(n)}, NextCursor: fmt.Sprint("log of ", n)})
		}
		l.Jobs[1].NextCursor = ""
		return l, nil
	}
	b := openBench(t, "", f)
	r := Request{Op: OpFailedLogs, Repo: "widgets", Target: api.Target{Branch: "main", SHA: headSHA}}
	raw, err := b.do(r)
	l := decode[api.FailedLogs](t, raw, err)
	if l.Jobs[1].NextCursor != "" {
		t.Errorf("the job without more has the cursor %q", l.Jobs[1].NextCursor)
	}
	for cursor, want := range map[string]string{l.Jobs[0].NextCursor: "log of 0", l.Jobs[2].NextCursor: "log of 2", l.NextCursor: "further jobs"} {
		at, err := b.sealer.open(cursor, r.binding("local"))
		if err != nil || at.Page != want {
			t.Errorf("cursor %.20q leads to %+v, %v; want %q", cursor, at, err, want)
		}
	}
}

func TestTheLongestCursorIsTakenOnEveryWay(t *testing.T) {
	s, err := newSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, ref := range map[string]string{"plain": strings.Repeat("x", 1024), "marks": strings.Repeat("<&>\"", 256)} {
		at := position{Page: strings.Repeat("p", 512), Before: "review_comment:9223372036854775807", At: &api.Resolved{Ref: ref, SHA: headSHA}}
		cursor, err := s.seal(at, "bound")
		if err != nil || len(cursor) > maxCursor {
			t.Errorf("%s: a cursor of %d bytes (%v), want at most %d", name, len(cursor), err, maxCursor)
		}
		if back, err := s.open(cursor, "bound"); err != nil || back.At.Ref != ref {
			t.Errorf("%s: opened to %+v (%v)", name, back, err)
		}
	}
	c := loadContract(t).doc.Components
	if n := c.Parameters["cursor"].Value.Schema.Value.MaxLength; n == nil || *n != maxCursor {
		t.Errorf("the parameter is described with %v bytes, want %d", n, maxCursor)
	}
	for name, schema := range c.Schemas {
		property := schema.Value.Properties["cursor"]
		if property == nil {
			continue
		}
		if n := property.Value.MaxLength; n == nil || *n != maxCursor {
			t.Errorf("%s.cursor is described with %v bytes, want %d", name, n, maxCursor)
		}
	}
}
