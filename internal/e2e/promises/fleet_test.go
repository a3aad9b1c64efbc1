package promises_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/talk"
)

// fleet is an atlas of one test's own: its home, its repository "r" to clone, its ship and tmux.
type fleet struct {
	dir    string // short, since sockets lie in it
	root   string // the atlas
	origin string // what "r" is cloned from
	env    []string
	daemon *shipyard.Daemon
	said   *talk.Words // all that ship commands printed
}

// newFleet makes an atlas with the repository "r". env comes on top of what every program of the
// test gets; no ship runs yet.
func newFleet(t *testing.T, env ...string) *fleet {
	t.Helper()
	dir := shipyard.Dir(t)
	f := &fleet{dir: dir, root: filepath.Join(dir, "a"), origin: filepath.Join(dir, "src", "r"), said: &talk.Words{}}
	t.Cleanup(func() { f.close(t) })
	f.env = append([]string{
		"HOME=" + dir, "PATH=" + shipyard.Built() + ":" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=xterm", shipyard.QuickEnd,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org",
	}, env...)
	f.shell(t, dir, `mkdir -p src/r && cd src/r && git init -q -b main . && echo hello >README && git add . && git commit -q -m first`)
	f.must(t, "init", "--port", "0", f.root)
	f.must(t, "repo", "add", "r", f.origin)
	return f
}

// serving is newFleet with a ship that serves.
func serving(t *testing.T, env ...string) *fleet {
	t.Helper()
	f := newFleet(t, env...)
	f.serve(t)
	return f
}

// end stops whatever of ours runs.
func (f *fleet) end(t *testing.T) {
	if f.daemon != nil {
		f.daemon.Stop(t)
	}
	if ship, err := f.info(); err == nil { // one that ship up started
		_ = syscall.Kill(ship.PID, syscall.SIGTERM)
	}
	if socket, err := f.socketPath(); err == nil {
		shipyard.EndTmux(t, socket)
	}
}

// close ends the fleet, and removes what lies outside its directory.
func (f *fleet) close(t *testing.T) {
	f.end(t)
	ids, _ := filepath.Glob(filepath.Join(f.root, "*", "*"))
	for _, dir := range ids {
		if id, err := atlas.NewID(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)); err == nil {
			_ = os.RemoveAll(filepath.Dir(atlas.TempSockets(f.root, id)))
		}
	}
}

// result is what a command that has ended left.
type result struct {
	stdout, stderr string
	code           int
}

func (f *fleet) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = f.dir, f.env
	return c
}

// run runs a command to its end.
func (f *fleet) run(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*shipyard.Patience, func() { _ = c.Process.Kill() })
	defer late.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", c.Args, err)
	}
	return result{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// ship runs one of the operator's commands on the atlas.
func (f *fleet) ship(t *testing.T, args ...string) result {
	t.Helper()
	r := f.run(t, f.command(shipyard.Built("ship"), append([]string{"--atlas", f.root}, args...)...))
	_, _ = io.WriteString(f.said, r.stdout+r.stderr)
	return r
}

// must is ship where it has to succeed; it gives standard output.
func (f *fleet) must(t *testing.T, args ...string) string {
	t.Helper()
	r := f.ship(t, args...)
	if r.code != 0 {
		t.Fatalf("ship %q = %d, want 0; stderr: %s", args, r.code, r.stderr)
	}
	return r.stdout
}

// refused is ship where it has to fail as an operator's mistake does: status 1 and one line that
// holds every one of texts.
func (f *fleet) refused(t *testing.T, args []string, texts ...string) {
	t.Helper()
	checkRefusal(t, args, f.ship(t, args...), texts...)
}

func checkRefusal(t *testing.T, args []string, r result, texts ...string) {
	t.Helper()
	if r.code != 1 || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("ship %q = %d with stderr %q, want 1 and one line", args, r.code, r.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("ship %q said %q, want %q in it", args, r.stderr, text)
		}
	}
}

// shell runs a script that has to succeed.
func (f *fleet) shell(t *testing.T, dir, script string) string {
	t.Helper()
	c := f.command("sh", "-c", script)
	c.Dir = dir
	r := f.run(t, c)
	if r.code != 0 {
		t.Fatalf("sh -c %q = %d: %s%s", script, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// activate makes and activates workspaces of "r"; sleepers run in them.
func (f *fleet) activate(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		f.must(t, "create", "r/"+name)
		f.must(t, "activate", "r/"+name, "--", "sleep", "1000")
	}
}

func (f *fleet) path(name string) string { return filepath.Join(f.root, "r", name) }

// workspaces is ship ls --json by the workspaces' names.
func (f *fleet) workspaces(t *testing.T) map[string]api.Workspace {
	t.Helper()
	var list api.Workspaces
	out := f.must(t, "ls", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("ship ls --json = %q: %v", out, err)
	}
	byName := map[string]api.Workspace{}
	for _, w := range list.Workspaces {
		byName[w.Name] = w
	}
	return byName
}

// state is one workspace's state in a word: "active", "active: REASON" or "REASON".
func (f *fleet) state(t *testing.T, name string) string {
	t.Helper()
	w, ok := f.workspaces(t)[name]
	switch {
	case !ok:
		return "missing"
	case w.InactiveReason == nil && w.Active:
		return "active"
	case w.InactiveReason == nil:
		return "inactive without a reason"
	case w.Active:
		return "active: " + *w.InactiveReason
	}
	return *w.InactiveReason
}

// shows waits until a command of ship's shows what it must come to show. Each asking is a process.
func shows(done func() bool) bool { return shipyard.PollEvery(100*time.Millisecond, done) }

// becomes waits until a workspace's state is want.
func (f *fleet) becomes(t *testing.T, name, want string) {
	t.Helper()
	got := ""
	if !shows(func() bool { got = f.state(t, name); return got == want }) {
		t.Errorf("ship ls shows r/%s as %q, want %q", name, got, want)
	}
}

// info asks the running ship, whoever started it.
func (f *fleet) info() (api.Ship, error) {
	var ship api.Ship
	ctx, cancel := context.WithTimeout(context.Background(), shipyard.Patience)
	defer cancel()
	err := f.operator(ctx, "info", "{}", &ship)
	return ship, err
}
