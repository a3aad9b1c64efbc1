package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

const (
	fakeToken = "ghp_thisIsTheForgeTokenOfTheseTestsAnd0thers"
	headSHA   = "1111111111111111111111111111111111111111"
)

// fakeForge is a forge behind a Provider: what was posted to it lies in posts. Its zero value works;
// each function that is set takes the place of a method.
type fakeForge struct {
	mu    sync.Mutex
	posts []Write
	calls map[string]int

	write  func(ctx context.Context, w Write, post func() *api.Written) (*api.Written, error)
	find   func(w Write) (*api.Written, error)
	head   func() (string, error)
	info   func(ctx context.Context) (*api.RepoInfo, error)
	issue  func(ctx context.Context, number int, cursor string) (*api.IssueView, error)
	issues func(cursor string) (*api.List[api.IssueItem], error)
	checks func(at api.Resolved) (*api.Checks, error)
	logs   func(at api.Resolved) (*api.FailedLogs, error)
}

func (f *fakeForge) count(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[method]++
}

func (f *fakeForge) called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *fakeForge) posted() []Write {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.posts)
}

func (f *fakeForge) Info(ctx context.Context, r Repo) (*api.RepoInfo, error) {
	f.count("Info")
	if f.info != nil {
		return f.info(ctx)
	}
	return &api.RepoInfo{FullName: r.Path}, nil
}

func (f *fakeForge) Issues(_ context.Context, _ Repo, state, cursor string) (*api.List[api.IssueItem], error) {
	f.count("Issues")
	if f.issues != nil {
		return f.issues(cursor)
	}
	return &api.List[api.IssueItem]{Items: []api.IssueItem{{Number: 1, Title: "an issue", State: state}}}, nil
}

func (f *fakeForge) Issue(ctx context.Context, _ Repo, number int, cursor string) (*api.IssueView, error) {
	f.count("Issue")
	if f.issue != nil {
		return f.issue(ctx, number, cursor)
	}
	return &api.IssueView{Kind: "issue", IssueItem: api.IssueItem{Number: number, Title: "an issue"}}, nil
}

func (f *fakeForge) Pulls(context.Context, Repo, string, string) (*api.List[api.PullItem], error) {
	f.count("Pulls")
	return &api.List[api.PullItem]{}, nil
}

func (f *fakeForge) Pull(_ context.Context, _ Repo, number int, _ string) (*api.PullView, error) {
	f.count("Pull")
	return &api.PullView{Kind: "pull", PullItem: api.PullItem{Number: number}}, nil
}

func (f *fakeForge) Resolve(_ context.Context, _ Repo, t api.Target) (*api.Resolved, error) {
	f.count("Resolve")
	return &api.Resolved{Pull: t.Pull, Ref: t.Ref, Branch: t.Branch, SHA: headSHA}, nil
}

func (f *fakeForge) Checks(_ context.Context, _ Repo, at api.Resolved, _ string) (*api.Checks, error) {
	f.count("Checks")
	if f.checks != nil {
		return f.checks(at)
	}
	return &api.Checks{Target: at, Overall: api.BucketPending, Counts: map[string]int{api.BucketPending: 1}}, nil
}

func (f *fakeForge) FailedLogs(_ context.Context, _ Repo, at api.Resolved, _ string) (*api.FailedLogs, error) {
	f.count("FailedLogs")
	if f.logs != nil {
		return f.logs(at)
	}
	return &api.FailedLogs{Target: at}, nil
}

func (f *fakeForge) Head(context.Context, Repo, int) (string, error) {
	f.count("Head")
	if f.head != nil {
		return f.head()
	}
	return headSHA, nil
}

// post is what the forge does with a write that reaches it.
func (f *fakeForge) post(w Write) *api.Written {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts = append(f.posts, w)
	return written(len(f.posts))
}

func written(n int) *api.Written {
	return &api.Written{ID: int64(n), URL: fmt.Sprintf("https://github.com/acme/widgets/issues/7#issuecomment-%d", n)}
}

func (f *fakeForge) Write(ctx context.Context, _ Repo, w Write) (*api.Written, error) {
	f.count("Write")
	if f.write != nil {
		return f.write(ctx, w, func() *api.Written { return f.post(w) })
	}
	return f.post(w), nil
}

func (f *fakeForge) Find(_ context.Context, _ Repo, w Write, _ time.Time) (*api.Written, error) {
	f.count("Find")
	if f.find != nil {
		return f.find(w)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.posts) - 1; i >= 0; i-- {
		if f.posts[i] == w {
			return written(i + 1), nil
		}
	}
	return nil, nil
}

// bench is a Broker over a fakeForge, with what it logs.
type bench struct {
	*Broker
	forge *fakeForge
	dir   string
	log   *talk.Words
}

// tools is the registry of these tests: two repositories on GitHub, one on no forge, one on a forge
// without provider.
func tools() map[string]Registered {
	return map[string]Registered{
		"widgets": {Forge: "github", URL: "https://github.com/acme/widgets.git"},
		"gadgets": {Forge: "github", URL: "git@github.com:acme/gadgets.git"},
		"local":   {Forge: "none", URL: "/srv/git/local"},
		"lab":     {Forge: "gitlab", URL: "https://gitlab.com/acme/sub/lab.git"},
		"far":     {Forge: "github", URL: "https://ghe.example/acme/far.git"},
	}
}

func configOf(t testing.TB, dir string, f Provider, log *talk.Words) Config {
	t.Helper()
	credentials, err := NewCredentialStore(CredentialStoreConfig{
		Environment: map[string]Secret{"GITHUB_TOKEN": NewSecret(fakeToken)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Registry: tools,
		Providers: map[string]func(*Guard, *slog.Logger) Provider{"github": func(g *Guard, _ *slog.Logger) Provider {
			tellTime(g, 0)
			return f
		}},
		Credentials: credentials, Dir: dir, Embedded: true,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		now:    func() moment { return moment{} }, // a time that is made up can't be read off the machine
	}
}

// tellTime is an answer of a forge whose clock is behind ours.
func tellTime(g *Guard, behind time.Duration) {
	date := time.Now().Add(-behind).UTC().Format(http.TimeFormat)
	g.quota.observe("core", "", &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {date}}})
}

// openBench opens a Broker in dir, or in a new directory where dir is "".
func openBench(t *testing.T, dir string, f *fakeForge, change ...func(*Config)) *bench {
	t.Helper()
	if dir == "" {
		dir = t.TempDir() + "/bridge"
	}
	log := &talk.Words{}
	c := configOf(t, dir, f, log)
	for _, one := range change {
		one(&c)
	}
	b, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{Broker: b, forge: f, dir: dir, log: log}
}

// do asks as the embedded ship.
func (b *bench) do(r Request) (json.RawMessage, error) {
	return b.As(b.Local()).Do(context.Background(), r)
}

// grantShip grants and gives the ship's way in.
func (b *bench) grantShip(t *testing.T, ship, repo string, verbs ...string) (Secret, Caller) {
	t.Helper()
	g, err := b.desk.grant(api.GrantRequest{Ship: ship, Repo: repo, Verbs: verbs})
	if err != nil {
		t.Fatal(err)
	}
	secret := NewSecret(g.Credential)
	return secret, b.As(secret)
}

func comment(body string) Request {
	return Request{Op: OpIssueComment, Repo: "widgets", Workspace: "main", Number: 7, Key: uuid.Must(uuid.NewV7()).String(), Body: body}
}

func review(event, body string) Request {
	r := comment(body)
	r.Op, r.Event = OpPRReview, event
	return r
}

// expectError holds err to a code and reason, spelled "code/reason".
func expectError(t *testing.T, err error, want string) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want %s", err, want)
	}
	if got := string(e.Code) + "/" + e.Reason; got != want {
		t.Fatalf("error = %s (%v), want %s", got, err, want)
	}
	return e
}

func decode[T any](t *testing.T, raw json.RawMessage, err error) T {
	t.Helper()
	var v T
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("answer %s: %v", raw, err)
	}
	return v
}

// lost is a provider's error for a write that may have been done.
func lost() error { return &api.Error{Code: api.OutcomeUnknown, Message: "the connection broke"} }
