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
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// fleet is an atlas of one test's own, with the repository "r".
type fleet struct {
	dir  string // short, since sockets lie in it
	root string
	env  []string
	ship *shipyard.Daemon

	agentMCP string // the program that harnesses start
}

// newFleet makes an atlas; no ship runs yet. env comes on top of what every program gets.
func newFleet(t *testing.T, env ...string) *fleet {
	t.Helper()
	dir := shipyard.Dir(t)
	f := &fleet{dir: dir, root: filepath.Join(dir, "a"), agentMCP: shipyard.Built("old", "agent-mcp")}
	t.Cleanup(func() { f.close(t) })
	f.env = append([]string{
		countSocket + "=" + f.countPath(), "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", shipyard.QuickEnd, "TERM=xterm", "GIT_CONFIG_NOSYSTEM=1",
	}, env...)
	f.must(t, exec.Command("sh", "-c", `mkdir -p src/r && cd src/r && git init -q -b main . &&
		git -c user.name=Ann -c user.email=ann@example.org commit -q --allow-empty -m first`))
	f.command(t, "init", "--port", "0", f.root)
	return f
}

// serving is a fleet whose ship serves active workspaces w0, w1, ….
func serving(t *testing.T, workspaces int) *fleet {
	t.Helper()
	return servingBy(t, "old", workspaces)
}

// servingBy is the same with the ship from one of the folders that build made.
func servingBy(t *testing.T, kind string, workspaces int) *fleet {
	t.Helper()
	f := newFleet(t)
	f.command(t, "repo", "add", "r", filepath.Join(f.dir, "src", "r"))
	f.start(t, shipyard.Built(kind, "ship"))
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
		f.ship.Stop(t)
	}
	if dir, err := atlas.Sockets(f.root); err == nil {
		shipyard.EndTmux(t, filepath.Join(dir, atlas.TmuxSocket))
	}
	ids, _ := filepath.Glob(filepath.Join(f.root, "r", "*"))
	for _, dir := range ids {
		if id, err := atlas.NewID("r", filepath.Base(dir)); err == nil {
			_ = os.RemoveAll(filepath.Dir(atlas.TempSockets(f.root, id)))
		}
	}
}

// must runs c to its good end and gives what it printed.
func (f *fleet) must(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	c.Dir, c.Env, c.WaitDelay = f.dir, f.env, time.Second
	var errs strings.Builder
	c.Stderr = &errs
	late := time.AfterFunc(shipyard.Patience, func() { _ = c.Process.Kill() })
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
	return f.must(t, exec.Command(shipyard.Built("new", "ship"), append([]string{"--atlas", f.root}, args...)...))
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

// tmuxPID is the process id of the tmux server that the sessions live in.
func (f *fleet) tmuxPID(t *testing.T) int {
	t.Helper()
	dir, err := atlas.Sockets(f.root)
	if err != nil {
		t.Fatal(err)
	}
	out := f.must(t, exec.Command("tmux", "-u", "-N", "-S", filepath.Join(dir, atlas.TmuxSocket), "display-message", "-p", "#{pid}"))
	return int(number(t, strings.TrimSpace(out)))
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
	client := http.Client{Timeout: shipyard.Patience, Transport: &http.Transport{
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

// start starts a ship and waits until it serves.
func (f *fleet) start(t *testing.T, path string) {
	t.Helper()
	c := exec.Command(path, "--atlas", f.root, "serve")
	c.Dir, c.Env = f.dir, f.env
	f.ship = shipyard.Launch(t, c)
	f.ship.AwaitReady(t)
}

// mcpURL is where w's server is.
func (f *fleet) mcpURL(t *testing.T, name string) string {
	t.Helper()
	return fmt.Sprintf("http://127.0.0.1:%d/workspaces/r/%s/mcp", f.port(t), name)
}
