//go:build e2e

package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/table"
)

// TestTheProductConforms runs the suite against a workspace of a real ship: its tmux session, its
// token, Fleet's own tools.
func TestTheProductConforms(t *testing.T) {
	_, at := startShip(t)
	tryAll(t, table.Conformance, "product", at)
}

// fleet is a ship that serves an atlas of its own.
type fleet struct {
	dir string
	env []string
}

// startShip lets a ship serve a workspace, and gives what the ship put into the workspace's
// session.
func startShip(t *testing.T) (fleet, endpoint) {
	t.Helper()
	dir := shipyard.Dir(t)
	f := fleet{dir: dir, env: []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", shipyard.QuickEnd, "GIT_CONFIG_NOSYSTEM=1",
	}}
	origin := filepath.Join(dir, "origin")
	f.run(t, "git", "init", "-q", "-b", "main", origin)
	f.run(t, "git", "-C", origin, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost", "commit", "-q", "--allow-empty", "-m", "begin")
	f.ship(t, "init", "--port", "0", filepath.Join(dir, "a"))
	f.ship(t, "repo", "add", "r", origin)
	f.serve(t)
	f.ship(t, "create", "r/w")
	note := filepath.Join(dir, "session")
	f.ship(t, "activate", "r/w", "--", "sh", "-c",
		`echo "$FLEET_AGENT_MCP_URL $FLEET_AGENT_MCP_TOKEN" >"$0.part"; mv "$0.part" "$0"; exec sleep 600`, note)
	t.Cleanup(func() { f.ship(t, "deactivate", "r/w") })
	var at endpoint
	begun := func() bool {
		raw, err := os.ReadFile(note)
		url, token, ok := strings.Cut(strings.TrimSpace(string(raw)), " ")
		at = endpoint{url, token}
		return err == nil && ok
	}
	if !shipyard.Poll(begun) {
		t.Fatal("the workspace's session did not begin")
	}
	return f, at
}

// serve starts the ship and waits until it serves; it ends, and its tmux with it, with the test.
func (f fleet) serve(t *testing.T) {
	t.Helper()
	c := exec.Command(shipyard.Built("ship"), "--atlas", filepath.Join(f.dir, "a"), "serve")
	c.Env, c.Dir = f.env, f.dir
	ship := shipyard.Launch(t, c)
	t.Cleanup(func() {
		ship.Stop(t)
		shipyard.EndTmux(t, filepath.Join(f.dir, "a", ".ship", "tmux.sock"))
	})
	ship.AwaitReady(t)
}

func (f fleet) ship(t *testing.T, args ...string) {
	t.Helper()
	f.run(t, shipyard.Built("ship"), append([]string{"--atlas", filepath.Join(f.dir, "a")}, args...)...)
}

func (f fleet) run(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env, c.Dir = f.env, f.dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", filepath.Base(name), args, err, out)
	}
}
