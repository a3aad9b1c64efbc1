package bridgetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
	"fleet/internal/bridge/github"
	"fleet/internal/e2e/talk"
)

// scene is a forge, the repository acme/widgets on it, and a bridge that serves it as "widgets".
type scene struct {
	*testing.T
	gh     *bridgetest.GitHub
	repo   *bridgetest.Repo
	broker *bridge.Broker
	caller bridge.Caller
	log    *talk.Words
	dir    string
	config bridge.Config
}

// cases runs stories, each with a scene of its own.
func cases(t *testing.T, stories map[string]func(s *scene)) {
	t.Helper()
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(newScene(t))
		})
	}
}

// waiting runs stories that wait more than they work, all at once, whatever -parallel says.
func waiting(t *testing.T, stories map[string]func(s *scene)) {
	t.Helper()
	var work sync.WaitGroup
	for name, story := range stories {
		work.Go(func() { t.Run(name, func(t *testing.T) { story(newScene(t)) }) })
	}
	work.Wait()
}

func newScene(t *testing.T) *scene {
	t.Helper()
	gh := bridgetest.NewGitHub(t)
	s := &scene{T: t, gh: gh, repo: gh.Repo("acme/widgets"), log: &talk.Words{}, dir: filepath.Join(tempDir(t), "bridge")}
	s.open(gh.Token())
	return s
}

// tempDir is in memory where the system has such a place: most of a write's time is waiting for the
// disk, and these tests make thousands.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bridgetest")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// open starts the bridge with a token from the environment, as a ship has it embedded.
func (s *scene) open(token string) {
	s.Helper()
	c, err := configOf(s.gh.URL(), token, s.dir)
	if err != nil {
		s.Fatal(err)
	}
	c.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.openWith(c)
}

// configOf is a bridge that is embedded and serves acme/widgets as "widgets" and acme/gadgets as "gadgets".
func configOf(api, token, dir string) (bridge.Config, error) {
	registered := map[string]bridge.Registered{
		"widgets": {Forge: "github", URL: "https://github.example/acme/widgets.git", APIURL: api},
		"gadgets": {Forge: "github", URL: "https://github.example/acme/gadgets.git", APIURL: api},
	}
	store, err := bridge.NewCredentialStore(bridge.CredentialStoreConfig{
		Environment: map[string]bridge.Secret{"GITHUB_TOKEN": bridge.NewSecret(token)},
		Registered:  func() []bridge.Registration { return bridge.Registrations(registered) },
	})
	return bridge.Config{
		Registry: func() map[string]bridge.Registered { return registered }, Credentials: store, Dir: dir, Embedded: true,
		Logger: slog.New(slog.DiscardHandler),
		Providers: map[string]func(*bridge.Guard, *slog.Logger) bridge.Provider{
			"github": func(g *bridge.Guard, l *slog.Logger) bridge.Provider { return github.New(g, l) },
		},
	}, err
}

// openWith starts the bridge, in place of one that runs already.
func (s *scene) openWith(c bridge.Config) {
	s.Helper()
	if s.broker != nil {
		if err := s.broker.Close(); err != nil {
			s.Fatalf("close the bridge: %v", err)
		}
	}
	b, err := bridge.Open(s.Context(), c)
	if err != nil {
		s.Fatalf("open the bridge: %v", err)
	}
	s.Cleanup(func() { _ = b.Close() })
	s.broker, s.caller, s.config = b, b.As(b.Local()), c
}

// with starts the bridge with another credential.
func (s *scene) with(t *bridgetest.Token) *scene {
	s.Helper()
	s.open(t.Text())
	return s
}

// do calls an operation. Repository, workspace and key are filled in.
func (s *scene) do(r bridge.Request) (json.RawMessage, *api.Error) {
	s.Helper()
	if r.Repo == "" {
		r.Repo = "widgets"
	}
	if r.Workspace == "" {
		r.Workspace = "widgets/main"
	}
	if r.Key == "" {
		r.Key = uuid.Must(uuid.NewV7()).String()
	}
	raw, err := s.caller.Do(context.WithoutCancel(s.Context()), r)
	if err == nil {
		return raw, nil
	}
	var e *api.Error
	if !errors.As(err, &e) {
		s.Fatalf("%s failed with %T, want *api.Error: %v", r.Op, err, err)
	}
	return nil, e
}

// get is do for an answer that must be there.
func get[T any](s *scene, r bridge.Request) T {
	s.Helper()
	raw, e := s.do(r)
	if e != nil {
		s.Fatalf("%s: %s (%s; cause %v)", r.Op, e.Text(), e.Reason, e.Err)
	}
	var v T
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		s.Fatalf("%s answered %s: %v", r.Op, raw, err)
	}
	return v
}

// refused is do for what must fail with this code and reason. The text that an agent reads of it
// must have each of words.
func (s *scene) refused(r bridge.Request, code api.Code, reason string, words ...string) *api.Error {
	s.Helper()
	raw, e := s.do(r)
	if e == nil {
		s.Fatalf("%s answered %s, want %s (%s)", r.Op, raw, code, reason)
	}
	if e.Code != code || e.Reason != reason {
		s.Fatalf("%s failed with %s (%s), want %s (%s)", r.Op, e.Text(), e.Reason, code, reason)
	}
	for _, w := range words {
		if !strings.Contains(e.Text(), w) {
			s.Errorf("%s failed with %q, which lacks %q", r.Op, e.Text(), w)
		}
	}
	return e
}

// healthy holds the bridge to answering as if nothing had been.
func (s *scene) healthy() {
	s.Helper()
	i := s.repo.Issue("are you well?")
	get[api.Written](s, comment(i.Number(), "yes"))
	if got := i.Texts(); len(got) != 1 || got[0] != "yes" {
		s.Errorf("a comment after it all: the issue has %q, want one that says yes", got)
	}
	get[api.IssueView](s, bridge.Request{Op: bridge.OpIssueView, Number: i.Number()})
}

func comment(number int, body string) bridge.Request {
	return bridge.Request{Op: bridge.OpIssueComment, Number: number, Body: body}
}

func review(number int, event, body string) bridge.Request {
	return bridge.Request{Op: bridge.OpPRReview, Number: number, Event: event, Body: body}
}

func checksOf(number int) bridge.Request {
	return bridge.Request{Op: bridge.OpChecks, Target: api.Target{Pull: number}}
}

func logsOf(number int) bridge.Request {
	return bridge.Request{Op: bridge.OpFailedLogs, Target: api.Target{Pull: number}}
}
