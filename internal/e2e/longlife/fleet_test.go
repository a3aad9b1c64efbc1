//go:build e2e

package longlife

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

// patience bounds every wait. Nothing waits that long unless it is broken.
const patience = 60 * time.Second

// fleet is an atlas of one test's own, with the repository "r".
type fleet struct {
	dir  string // short, since sockets lie in it
	root string
	env  []string
	ship *daemon

	agentMCP string // the program that harnesses start
}

// newFleet makes an atlas; no ship runs yet. env comes on top of what every program gets.
func newFleet(t *testing.T, env ...string) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "fll")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	f := &fleet{dir: dir, root: filepath.Join(dir, "a"), agentMCP: program("old", "agent-mcp")}
	t.Cleanup(func() { f.close(t) })
	f.env = append([]string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=xterm", "GIT_CONFIG_NOSYSTEM=1",
	}, env...)
	f.must(t, exec.Command("sh", "-c", `mkdir -p src/r && cd src/r && git init -q -b main . &&
		git -c user.name=Ann -c user.email=ann@example.org commit -q --allow-empty -m first`))
	f.command(t, "init", "--port", "0", f.root)
	return f
}

// serving is a fleet whose ship serves active workspaces w0, w1, ….
func serving(t *testing.T, workspaces int) *fleet {
	t.Helper()
	f := newFleet(t)
	f.command(t, "repo", "add", "r", filepath.Join(f.dir, "src", "r"))
	f.start(t, program("old", "ship"))
	f.populate(t, workspaces)
	return f
}

func (f *fleet) populate(t *testing.T, workspaces int) {
	t.Helper()
	for i := range workspaces {
		name := "r/" + workspace(i)
		f.command(t, "create", name)
		f.command(t, "activate", name, "--", "sleep", "100000")
	}
}

func workspace(i int) string { return "w" + strconv.Itoa(i) }

func (f *fleet) close(t *testing.T) {
	if f.ship != nil {
		f.ship.stop(t)
	}
	if dir, err := atlas.Sockets(f.root); err == nil {
		_ = exec.Command("tmux", "-N", "-S", filepath.Join(dir, atlas.TmuxSocket), "kill-server").Run()
	}
	ids, _ := filepath.Glob(filepath.Join(f.root, "r", "*"))
	for _, dir := range ids {
		if id, err := atlas.NewID("r", filepath.Base(dir)); err == nil {
			_ = os.RemoveAll(filepath.Dir(atlas.TempSockets(f.root, id)))
		}
	}
	if !poll(func() bool { return os.RemoveAll(f.dir) == nil }) {
		t.Errorf("something still writes in %s", f.dir)
	}
}

// must runs c to its good end and gives what it printed.
func (f *fleet) must(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	c.Dir, c.Env, c.WaitDelay = f.dir, f.env, time.Second
	var errs strings.Builder
	c.Stderr = &errs
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	defer late.Stop()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%q: %v: %s%s", c.Args, err, out, &errs)
	}
	return string(out)
}

// command runs one of ship's.
func (f *fleet) command(t *testing.T, args ...string) string {
	t.Helper()
	return f.must(t, exec.Command(program("new", "ship"), append([]string{"--atlas", f.root}, args...)...))
}

func (f *fleet) path(name string) string { return filepath.Join(f.root, "r", name) }

// port is the one in atlas.json, which is the one that a ship serves.
func (f *fleet) port(t *testing.T) int {
	t.Helper()
	file, err := atlas.Read(f.root)
	if err != nil {
		t.Fatal(err)
	}
	return file.Port
}

// sessionEnv is what a process started in the workspace's session finds in its environment.
func (f *fleet) sessionEnv(t *testing.T, name string) []string {
	t.Helper()
	id, err := atlas.NewID("r", name)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := atlas.Sockets(f.root)
	if err != nil {
		t.Fatal(err)
	}
	out := f.must(t, exec.Command("tmux", "-u", "-N", "-S", filepath.Join(dir, atlas.TmuxSocket), "show-environment", "-t", "="+id.SessionName()))
	return append([]string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH")}, strings.Split(strings.TrimSpace(out), "\n")...)
}

func (f *fleet) token(t *testing.T, name string) string {
	t.Helper()
	for _, entry := range f.sessionEnv(t, name) {
		if value, ok := strings.CutPrefix(entry, atlas.TokenVariable+"="); ok {
			return value
		}
	}
	t.Fatalf("the session of r/%s has no token", name)
	return ""
}

// version is what the running ship calls itself.
func (f *fleet) version(t *testing.T) string {
	t.Helper()
	dir, err := atlas.Sockets(f.root)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", filepath.Join(dir, atlas.OperatorSocket))
		},
	}}
	resp, err := client.Post("http://ship/v1/info", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var ship api.Ship
	if err := json.NewDecoder(resp.Body).Decode(&ship); err != nil {
		t.Fatal(err)
	}
	return ship.Version
}

// daemon is a "ship serve".
type daemon struct {
	cmd   *exec.Cmd
	said  *words
	ended chan struct{} // closed once it has been waited for
}

// words collects what a program says.
type words struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write makes words a process's output.
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// start starts a ship and waits until it serves.
func (f *fleet) start(t *testing.T, path string) {
	t.Helper()
	d := &daemon{cmd: exec.Command(path, "--atlas", f.root, "serve"), said: &words{}, ended: make(chan struct{})}
	d.cmd.Dir, d.cmd.Env, d.cmd.Stderr = f.dir, f.env, d.said
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.ship = d
	go func() { _ = d.cmd.Wait(); close(d.ended) }()
	if !poll(func() bool { return strings.Contains(d.said.String(), "msg=ready") || d.over() }) || d.over() {
		t.Fatalf("ship serve did not become ready; it said: %s", d.said)
	}
}

func (d *daemon) over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// stop ends the ship as an operator does, and says how long it took.
func (d *daemon) stop(t *testing.T) time.Duration {
	t.Helper()
	if d.over() {
		return 0
	}
	began := time.Now()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Error("ship serve did not end after SIGTERM")
		d.kill()
	}
	return time.Since(began)
}

// kill ends the ship without warning, as a crash does.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.ended
}

// poll asks until done says yes, for as long as patience lasts.
func poll(done func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// mcpURL is where w's server is.
func (f *fleet) mcpURL(t *testing.T, name string) string {
	t.Helper()
	return fmt.Sprintf("http://127.0.0.1:%d/workspaces/r/%s/mcp", f.port(t), name)
}
