package bridge

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

func checksOf(pull int) Request {
	return Request{Op: OpChecks, Repo: "widgets", Workspace: "main", Target: api.Target{Pull: pull}}
}

func TestThirtyAgentsThatPollOnePullCostTheForgeOneCallAPeriod(t *testing.T) {
	for name, c := range map[string]struct {
		overall    string
		least, top int // refreshes of the checks
	}{
		"while checks run": {api.BucketPending, 6, 7},
		"once all is done": {api.BucketPass, 1, 2},
		"while none began": {api.BucketNone, 6, 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeForge{}
				f.checks = func(at api.Resolved) (*api.Checks, error) {
					time.Sleep(300 * time.Millisecond)
					return &api.Checks{Target: at, Overall: c.overall, Counts: map[string]int{c.overall: 1}}, nil
				}
				b := openBench(t, "", f)
				var wait sync.WaitGroup
				for n := range 30 {
					wait.Go(func() {
						r := checksOf(7)
						r.Workspace = fmt.Sprint(n)
						time.Sleep(time.Duration(n) * 11 * time.Millisecond)
						for range 7 {
							if _, err := b.do(r); err != nil {
								t.Error(err)
							}
							time.Sleep(10 * time.Second)
						}
					})
				}
				wait.Wait()
				if n := f.called("Checks"); f.called("Resolve") > 7 || n < c.least || n > c.top {
					t.Errorf("%d resolves and %d refreshes, want at most 7 and %d to %d", f.called("Resolve"), n, c.least, c.top)
				}
			})
		})
	}
}

func TestAnswersAreFreshForTheirTime(t *testing.T) {
	cases := map[string]struct {
		r      Request
		method string
		ttl    time.Duration
	}{
		"info":   {Request{Op: OpInfo}, "Info", 5 * time.Minute},
		"issues": {Request{Op: OpIssueList}, "Issues", 30 * time.Second},
		"pulls":  {Request{Op: OpPRList}, "Pulls", 30 * time.Second},
		"issue":  {Request{Op: OpIssueView, Number: 7}, "Issue", 10 * time.Second},
		"pull":   {Request{Op: OpPRView, Number: 7}, "Pull", 10 * time.Second},
		"checks": {checksOf(7), "Checks", 10 * time.Second},
		"logs":   {Request{Op: OpFailedLogs, Target: api.Target{Ref: "main"}}, "FailedLogs", 10 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := openBench(t, "", &fakeForge{})
				c.r.Repo = "widgets"
				ask := func(want int) {
					t.Helper()
					if _, err := b.do(c.r); err != nil || b.forge.called(c.method) != want {
						t.Errorf("%v, %d calls of %s; want %d", err, b.forge.called(c.method), c.method, want)
					}
				}
				ask(1)
				time.Sleep(c.ttl - time.Second)
				ask(1)
				time.Sleep(time.Second)
				ask(2)
			})
		})
	}
}

func TestQuestionsThatDifferAreAskedApart(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	for _, r := range []Request{
		{Op: OpIssueList, State: "open"},
		{Op: OpIssueList, State: "closed"},
		{Op: OpIssueList, State: "all"},
		{Op: OpIssueList}, // the same as open
		{Op: OpIssueList, Repo: "gadgets"},
	} {
		if r.Repo == "" {
			r.Repo = "widgets"
		}
		if _, err := b.do(r); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.forge.called("Issues"); n != 4 {
		t.Errorf("the forge was asked %d times, want four", n)
	}
}

func TestAnotherCredentialIsAskedAnew(t *testing.T) {
	token := fakeToken
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Credentials = onlyCredential{swappedID{&token}} })
	for _, next := range []string{"a", "b", "a"} {
		token = next
		if _, err := b.do(Request{Op: OpInfo, Repo: "widgets"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.forge.called("Info"); n != 2 {
		t.Errorf("asked %d times, want once for each credential", n)
	}
}

func TestTheFirstCallersEndDoesNotEndWhatOthersWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.info = func(ctx context.Context) (*api.RepoInfo, error) {
			select {
			case <-time.After(5 * time.Second):
				return &api.RepoInfo{}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		b := openBench(t, "", f)
		r := Request{Op: OpInfo, Repo: "widgets"}
		first, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := make(chan error, 1)
		go func() {
			_, err := b.As(b.Local()).Do(first, r)
			errs <- err
		}()
		synctest.Wait()
		if _, err := b.do(r); err != nil || f.called("Info") != 1 {
			t.Errorf("the second caller: %v after %d calls, want an answer from one", err, f.called("Info"))
		}
		expectError(t, <-errs, "unavailable/timeout")
	})
}

func TestAWriteIsSeenByTheNextRead(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	reads := []Request{
		{Op: OpIssueView, Number: 7},
		{Op: OpPRView, Number: 7},
		{Op: OpIssueList},
		{Op: OpPRList},
		{Op: OpIssueView, Number: 8},
		{Op: OpInfo},
		checksOf(7),
	}
	ask := func() {
		for _, r := range reads {
			r.Repo = "widgets"
			if _, err := b.do(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask()
	if _, err := b.do(comment("done")); err != nil {
		t.Fatal(err)
	}
	ask()
	for method, want := range map[string]int{"Issue": 3, "Pull": 2, "Issues": 2, "Pulls": 2, "Info": 1, "Checks": 1} {
		if got := b.forge.called(method); got != want {
			t.Errorf("%s was asked %d times, want %d", method, got, want)
		}
	}
}

func TestAReadThatAWriteOvertookIsNeitherSharedNorKept(t *testing.T) {
	for name, wait := range map[string]bool{"asked while it is under way": false, "asked after it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeForge{}
				f.issue = func(_ context.Context, n int, _ string) (*api.IssueView, error) {
					v := &api.IssueView{IssueItem: api.IssueItem{Number: n, CommentCount: len(f.posted())}}
					time.Sleep(5 * time.Second)
					return v, nil
				}
				b := openBench(t, "", f)
				r := Request{Op: OpIssueView, Repo: "widgets", Number: 7}
				early := make(chan struct{})
				go func() {
					defer close(early)
					_, _ = b.do(r)
				}()
				synctest.Wait()
				if _, err := b.do(comment("done")); err != nil {
					t.Fatal(err)
				}
				if wait {
					<-early
				}
				raw, err := b.do(r)
				if v := decode[api.IssueView](t, raw, err); v.CommentCount != 1 {
					t.Errorf("a read after the write shows %d comments, want its own", v.CommentCount)
				}
				<-early
			})
		})
	}
}

func TestTheCacheStaysSmall(t *testing.T) {
	f := &fakeForge{}
	big := strings.Repeat("x", 8<<10)
	f.issue = func(_ context.Context, n int, _ string) (*api.IssueView, error) {
		return &api.IssueView{IssueItem: api.IssueItem{Number: n}, Text: api.Text{Body: big}}, nil
	}
	b := openBench(t, "", f)
	if b.reads.limits != [2]int{maxEntries, maxCacheBytes} {
		t.Errorf("limits %v", b.reads.limits)
	}
	b.reads.limits = [2]int{100, 128 << 10}
	ask := func(first, n int) {
		for n := range n {
			if _, err := b.do(Request{Op: OpIssueView, Repo: "widgets", Number: first + n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(1, 40)
	if n := b.reads.recent.Len(); b.reads.bytes > 128<<10 || n != len(b.reads.entries) || n < 6 {
		t.Errorf("%d bytes in %d entries, want at most %d bytes", b.reads.bytes, n, 128<<10)
	}
	f.issue = nil
	ask(100, 300)
	if n := b.reads.recent.Len(); n != 100 || n != len(b.reads.entries) || len(b.reads.flights) != 0 {
		t.Errorf("%d entries and %d questions under way, want at most 100 and none", n, len(b.reads.flights))
	}
	asked := f.called("Issue")
	ask(399, 1)
	ask(100, 1)
	if f.called("Issue") != asked+1 {
		t.Errorf("%d more calls, want one: the newest is kept, the oldest isn't", f.called("Issue")-asked)
	}
}

func TestTheRepositoryIsNamedAsTheShipKnowsIt(t *testing.T) {
	b := openBench(t, "", &fakeForge{}, func(c *Config) {
		c.Registry = func() map[string]Registered {
			return map[string]Registered{"one": tools()["widgets"], "two": tools()["widgets"]}
		}
	})
	for _, name := range []string{"one", "two"} {
		raw, err := b.do(Request{Op: OpInfo, Repo: name})
		if v := decode[api.RepoInfo](t, raw, err); v.Repo != name || v.FullName != "acme/widgets" {
			t.Errorf("%+v, want repo %s", v, name)
		}
	}
	if n := b.forge.called("Info"); n != 1 {
		t.Errorf("one repository of the forge was asked for %d times, want once", n)
	}
}

// onlyCredential gives one credential for every host.
type onlyCredential struct{ Credential }

func (c onlyCredential) For(string, *url.URL) (Credential, error) { return c.Credential, nil }

// swappedID is a credential whose place another one may take.
type swappedID struct{ id *string }

func (c swappedID) ID() string                                    { return "swap:" + *c.id }
func (c swappedID) Authorization(context.Context) (Secret, error) { return NewSecret("Bearer x"), nil }
func (c swappedID) Refused(context.Context, Secret) bool          { return false }

func TestCountsAndNamesAreNeverNull(t *testing.T) {
	f := &fakeForge{
		checks: func(at api.Resolved) (*api.Checks, error) {
			return &api.Checks{Target: at, Overall: api.BucketNone}, nil
		},
		logs: func(at api.Resolved) (*api.FailedLogs, error) {
			return &api.FailedLogs{Target: at, Jobs: []api.FailedJob{{Conclusion: "failure"}}}, nil
		},
	}
	b := openBench(t, "", f)
	for op, want := range map[string]string{OpChecks: `"counts":{},"items":[]`, OpFailedLogs: `"names":[]`} {
		raw, err := b.do(Request{Op: op, Repo: "widgets", Target: api.Target{Branch: "main"}})
		if err != nil || !strings.Contains(string(raw), want) || strings.Contains(string(raw), "null") {
			t.Errorf("%s: %s (%v), want %s", op, raw, err, want)
		}
	}
}
