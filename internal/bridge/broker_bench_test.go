package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// What an embedded bridge adds to a read that is in its cache.
func BenchmarkCachedRead(b *testing.B) {
	f := &fakeForge{}
	f.checks = func(at api.Resolved) (*api.Checks, error) {
		c := &api.Checks{Target: at, Overall: api.BucketPass, Counts: map[string]int{api.BucketPass: 30}}
		for n := range 30 {
			c.Items = append(c.Items, api.Check{
				Name: fmt.Sprintf("test (%d)", n), Source: "check_run", Bucket: api.BucketPass, State: "success", App: "github-actions",
				Workflow: "ci", URL: "https://github.com/acme/widgets/actions/runs/1/job/2", HasLog: true,
			})
		}
		return c, nil
	}
	f.issue = func(context.Context, int, string) (*api.IssueView, error) {
		v := &api.IssueView{}
		for id := range 100 {
			v.Thread.Comments = append(v.Thread.Comments, api.Comment{ID: int64(id), Kind: api.KindComment, Text: api.Text{Body: strings.Repeat("some text\n", 100)}})
		}
		return v, nil
	}
	broker, err := Open(b.Context(), configOf(b, b.TempDir()+"/bridge", f, &talk.Words{}))
	if err != nil {
		b.Fatal(err)
	}
	defer broker.Close()
	caller := broker.As(broker.Local())
	for name, r := range map[string]Request{
		"info":            {Op: OpInfo},
		"thirty checks":   checksOf(7),
		"view of 64 KiB":  {Op: OpIssueView, Number: 7},
		"a list of issue": {Op: OpIssueList},
	} {
		r.Repo = "widgets"
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := caller.Do(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
