package bridge

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"fleet/api"
)

// wordyForge answers everything with all that there is to say, or with as little as possible.
type wordyForge struct {
	fakeForge
	terse   bool
	limited atomic.Bool
}

func (f *wordyForge) provider(c *Config) {
	c.Providers = map[string]func(*Guard, *slog.Logger) Provider{"github": func(*Guard, *slog.Logger) Provider { return f }}
}

func say[T any](f *wordyForge, v T) (*T, error) {
	if f.limited.Load() {
		return nil, &api.Error{Code: api.RateLimited, Reason: "secondary", Message: "too many requests", RetryAfterSeconds: 30}
	}
	if f.terse {
		strip(reflect.ValueOf(&v).Elem())
	}
	return &v, nil
}

// strip leaves out what may be left out, and lists.
func strip(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case strings.HasSuffix(f.Tag.Get("json"), ",omitempty"), f.Type.Kind() == reflect.Slice:
			v.Field(i).SetZero()
		case f.Type != reflect.TypeFor[time.Time]():
			strip(v.Field(i))
		}
	}
}

var _ Provider = (*wordyForge)(nil)

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

func (f *wordyForge) Info(_ context.Context, r Repo) (*api.RepoInfo, error) {
	return say(f, api.RepoInfo{
		Forge: "github", FullName: r.Path, Description: "widgets for all", URL: "https://github.com/acme/widgets", DefaultBranch: "main",
		Visibility: "internal", Archived: true, HasIssues: true, OpenIssues: 3, UpdatedAt: noon(),
	})
}

func author() api.Author { return api.Author{Login: "mona", Association: "MEMBER", Bot: true} }

func issueItem() api.IssueItem {
	return api.IssueItem{
		Number: 7, Title: "it breaks", State: "closed", Author: author(), Labels: []string{"bug"}, CommentCount: 2, UpdatedAt: noon(),
		URL: "https://github.com/acme/widgets/issues/7",
	}
}

func pullItem() api.PullItem {
	return api.PullItem{
		Number: 7, Title: "mend it", State: "merged", Draft: true, Author: author(), Labels: []string{"bug"}, Head: "mona:mend", Base: "main",
		HeadSHA: headSHA, UpdatedAt: noon(), URL: "https://github.com/acme/widgets/pull/7",
	}
}

func (f *wordyForge) Issues(context.Context, Repo, string, string) (*api.List[api.IssueItem], error) {
	total := 12
	return say(f, api.List[api.IssueItem]{Items: []api.IssueItem{issueItem()}, Total: &total, NextCursor: "2"})
}

func (f *wordyForge) Pulls(context.Context, Repo, string, string) (*api.List[api.PullItem], error) {
	total := 12
	return say(f, api.List[api.PullItem]{Items: []api.PullItem{pullItem()}, Total: &total, NextCursor: "2"})
}

func thread() api.Thread {
	total, resolved := 40, true
	return api.Thread{
		Comments: []api.Comment{
			{ID: 1, Kind: api.KindComment, Author: author(), CreatedAt: noon(), Edited: true, Text: api.Text{Body: "yes", Truncated: true}, URL: "https://github.com/a"},
			{ID: 2, Kind: api.KindReview, Author: author(), CreatedAt: noon(), URL: "https://github.com/b", State: "APPROVED", CommitSHA: headSHA, Stale: true},
			{
				ID: 1 << 60, Kind: api.KindReviewComment, Author: author(), CreatedAt: noon(), URL: "https://github.com/c", Path: "a.go", Line: 3,
				InReplyTo: 5, Resolved: &resolved, Outdated: true,
			},
		},
		Total: &total, NextCursor: "2", Incomplete: []string{"review threads: the forge did not answer"},
	}
}

func (f *wordyForge) Issue(context.Context, Repo, int, string) (*api.IssueView, error) {
	return say(f, api.IssueView{
		Kind: "pull", Note: "this is a pull request", IssueItem: issueItem(), CreatedAt: noon(), Locked: true, Milestone: "1.0",
		Assignees: []string{"mona"}, Text: api.Text{Body: "it does", Truncated: true}, Thread: thread(),
	})
}

func (f *wordyForge) Pull(context.Context, Repo, int, string) (*api.PullView, error) {
	return say(f, api.PullView{
		Kind: "pull", Note: "a note", PullItem: pullItem(), CreatedAt: noon(), BaseSHA: headSHA, Mergeable: "yes", MergeState: "clean",
		Locked: true, Commits: 1, ChangedFiles: 2, Additions: 3, Deletions: 4, Reviewers: []string{"hubot"},
		Verdicts: []api.Verdict{{Author: author(), State: "APPROVED", Stale: true}}, Text: api.Text{Body: "it does", Truncated: true}, Thread: thread(),
	})
}

func (f *wordyForge) Resolve(context.Context, Repo, api.Target) (*api.Resolved, error) {
	return say(f, api.Resolved{Pull: 7, Ref: "v1", Branch: "main", SHA: headSHA, Note: "the workspace is ahead of what was pushed"})
}

func (f *wordyForge) Checks(context.Context, Repo, api.Resolved, string) (*api.Checks, error) {
	at := noon()
	return say(f, api.Checks{
		Overall: api.BucketFail, Reason: "a workflow run never started", Counts: map[string]int{api.BucketFail: 1, api.BucketPass: 2},
		Items: []api.Check{{
			Name: "test (1)", Source: "check_run", Bucket: api.BucketFail, State: "failure", App: "github-actions", Workflow: "CI", Summary: "1 failed",
			URL: "https://github.com/d", StartedAt: &at, CompletedAt: &at, HasLog: true,
		}},
		NextCursor: "2", Incomplete: []string{"statuses: the forge did not answer"},
	})
}

func (f *wordyForge) FailedLogs(context.Context, Repo, api.Resolved, string) (*api.FailedLogs, error) {
	return say(f, api.FailedLogs{
		Jobs: []api.FailedJob{{
			Names: []string{"test (1)", "test (2)"}, Workflow: "CI", Conclusion: "failure", Step: "go test", Excerpt: "FAIL", Lines: 90,
			Shown: []string{"1-20", "80-90"}, Note: "the log was cut", Title: "one failed", Summary: "see below",
			Annotations: []api.Annotation{{Path: "a.go", Line: 3, Level: "failure", Message: "no"}}, URL: "https://github.com/e",
		}},
		Note: "one check has no log", NextCursor: "2", Incomplete: []string{"annotations: the forge did not answer"},
	})
}

func (f *wordyForge) Write(context.Context, Repo, Write) (*api.Written, error) {
	return say(f, api.Written{ID: 1 << 60, URL: "https://github.com/f", State: "APPROVED", CommitSHA: headSHA, CreatedAt: noon(), Note: "a note"})
}
