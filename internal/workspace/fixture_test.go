package workspace_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/token"
	"fleet/internal/workspace"
)

// fleet is an atlas with one repository, r, a real tmux on a socket of its own and a Manager.
type fleet struct {
	*workspace.Manager
	root, origin, home string
	atlas              *atlas.File
	tokens             *token.Table[atlas.ID]
	events             *journal
	env                []string          // of the daemon
	lookup             map[string]string // further variables of the daemon
	port               int
	inactive           *ids
}

// journal is an event log that can be read, and that can fail.
type journal struct {
	mu     sync.Mutex
	events []api.Event
}

func (j *journal) Append(e api.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
	return nil
}

// of gives what happened to id, in short.
func (j *journal) of(id atlas.ID) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var types []string
	for _, e := range j.events {
		if e.Repo == id.Repo && e.Workspace == id.Name {
			types = append(types, strings.TrimSuffix(strings.TrimPrefix(e.Type, "workspace.")+" "+e.Reason, " "))
		}
	}
	return strings.Join(types, ", ")
}

// ids notes OnInactive.
type ids struct {
	mu   sync.Mutex
	seen []atlas.ID
}

func (l *ids) add(id atlas.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, id)
}

func (l *ids) has(id atlas.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.seen {
		if s == id {
			return true
		}
	}
	return false
}

func TestMain(m *testing.M) {
	process.Overlap()
	os.Exit(m.Run())
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	return newFleetIn(t, "atlas")
}

// newFleetIn makes the atlas in a directory of that name.
func newFleetIn(t testing.TB, name string) *fleet {
	t.Helper()
	// Not t.TempDir: a socket's path must stay under 100 bytes.
	base, err := os.MkdirTemp("", "fw")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	f := &fleet{
		root: filepath.Join(base, name), origin: filepath.Join(base, "origin"), home: filepath.Join(base, "home"),
		lookup: map[string]string{}, port: 4711, inactive: &ids{}, events: &journal{},
	}
	f.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "SHELL=/bin/sh"}
	for _, dir := range []string{f.root, f.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.git(t, base, "init", "-q", "-b", "main", f.origin)
	f.commit(t, f.origin, "file", "one\n")
	f.atlas = atlas.New(f.port)
	f.atlas.Repos["r"] = atlas.Repo{URL: f.origin, Forge: "none"}
	t.Cleanup(func() {
		f.tmux("kill-server")
		os.RemoveAll(filepath.Dir(atlas.TempSockets(f.root, atlas.ID{Repo: "r", Name: "a"})))
		removeAll(t, base)
	})
	f.open(t)
	return f
}

// removeAll removes dir, in which a process that was just told to end may still write.
func removeAll(t testing.TB, dir string) {
	var err error
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	t.Errorf("clean up: %v", err)
}

// open is what a ship does at its start; a second time, what the next ship does.
func (f *fleet) open(t testing.TB) {
	t.Helper()
	f.tokens = &token.Table[atlas.ID]{}
	m, err := workspace.Open(t.Context(), f.config())
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	f.Manager = m
}

func (f *fleet) config() workspace.Config {
	return workspace.Config{
		Root: f.root, Tokens: f.tokens, Events: f.events, Environ: f.env,
		Atlas:      func() *atlas.File { return f.atlas },
		Port:       func() int { return f.port },
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		LookupEnv:  func(name string) (string, bool) { v, ok := f.lookup[name]; return v, ok },
		OnInactive: f.inactive.add,
	}
}

// run lets the Manager look at tmux until the test ends.
func (f *fleet) run(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
}

func id(t testing.TB, s string) atlas.ID {
	t.Helper()
	parsed, err := atlas.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// checkout makes a workspace without the Manager: anyone may.
func (f *fleet) checkout(t testing.TB, name string) atlas.ID {
	t.Helper()
	w := id(t, name)
	f.git(t, f.root, "clone", "-q", f.origin, w.Dir(f.root))
	return w
}

func (f *fleet) activate(t testing.TB, w atlas.ID, o workspace.ActivateOptions) {
	t.Helper()
	if _, err := f.Activate(t.Context(), w, o); err != nil {
		t.Fatalf("Activate(%s): %v", w, err)
	}
}

func (f *fleet) get(t testing.TB, w atlas.ID) api.Workspace {
	t.Helper()
	got, err := f.Get(t.Context(), w)
	if err != nil {
		t.Fatalf("Get(%s): %v", w, err)
	}
	return got
}

// git runs git as an operator or an agent does.
func (f *fleet) git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "core.fsync=none"}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *fleet) commit(t testing.TB, dir, name, text string) {
	t.Helper()
	write(t, filepath.Join(dir, name), text)
	f.git(t, dir, "add", "--", name)
	f.git(t, dir, "commit", "-q", "-m", "change "+name)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) socket() string {
	dir, err := atlas.Sockets(f.root)
	if err != nil {
		return "/nonexistent"
	}
	return filepath.Join(dir, atlas.TmuxSocket)
}

// tmux runs tmux by hand.
func (f *fleet) tmux(args ...string) (string, error) {
	c := exec.Command("tmux", append([]string{"-u", "-N", "-S", f.socket()}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

func (f *fleet) byHand(t testing.TB, args ...string) string {
	t.Helper()
	out, err := f.tmux(args...)
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return out
}

// sessionToken reads the token that a session holds.
func (f *fleet) sessionToken(t testing.TB, w atlas.ID) token.Token {
	t.Helper()
	line := f.byHand(t, "show-environment", "-t", "="+w.SessionName(), "FLEET_AGENT_MCP_TOKEN")
	tok, err := token.Parse(strings.TrimPrefix(line, "FLEET_AGENT_MCP_TOKEN="))
	if err != nil {
		t.Fatalf("the session of %s holds no token", w)
	}
	return tok
}

func (f *fleet) opens(tok token.Token, w atlas.ID) bool {
	got, ok := f.tokens.Lookup(tok)
	return ok && got == w
}

// wantError holds err to a code, a reason and a hint that holds a text.
func wantError(t testing.TB, what string, err error, code api.Code, reason, hint string) {
	t.Helper()
	e, ok := err.(*api.Error)
	if !ok || e.Code != code || e.Reason != reason || !strings.Contains(e.Hint, hint) || e.Hint == "" {
		t.Errorf("%s: %#v, want %s (%s) with a hint at %q", what, err, code, reason, hint)
	}
}

func eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("not within 15 s: %s", what)
}

// read waits for a file that a process in a pane renames into place.
func read(t testing.TB, path string) string {
	t.Helper()
	var raw []byte
	eventually(t, "somebody writes "+filepath.Base(path), func() bool {
		var err error
		raw, err = os.ReadFile(path)
		return err == nil
	})
	return string(raw)
}

// dumping is a command that writes its environment to path and stays.
func dumping(path string) []string {
	return []string{"sh", "-c", `env -0 > "$0.x"; mv "$0.x" "$0"; exec sleep 60`, path}
}
