//go:build e2e

package conformance_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	dir, program string // program is the ship; agent-mcp lies beside it
	env          []string
}

// startShip builds the two programs, lets the ship serve a workspace, and gives what the ship put
// into the workspace's session.
func startShip(t *testing.T) (fleet, endpoint) {
	t.Helper()
	// Not t.TempDir: a socket's path must stay under 100 bytes.
	dir, err := os.MkdirTemp("", "flc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	f := fleet{dir: dir, program: filepath.Join(dir, "bin", "ship"), env: []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1",
	}}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "bin")+"/", "fleet/cmd/ship", "fleet/cmd/agent-mcp").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	origin := filepath.Join(dir, "origin")
	f.run(t, "git", "init", "-q", "-b", "main", origin)
	f.run(t, "git", "-C", origin, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost", "commit", "-q", "--allow-empty", "-m", "begin")
	f.run(t, f.program, "init", "--port", "0", filepath.Join(dir, "a"))
	f.ship(t, "repo", "add", "r", origin)
	f.serve(t)
	f.ship(t, "create", "r/w")
	note := filepath.Join(dir, "session")
	f.ship(t, "activate", "r/w", "--", "sh", "-c",
		`echo "$FLEET_AGENT_MCP_URL $FLEET_AGENT_MCP_TOKEN" >"$0.part"; mv "$0.part" "$0"; exec sleep 600`, note)
	t.Cleanup(func() { f.ship(t, "deactivate", "r/w") })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		raw, err := os.ReadFile(note)
		if url, token, ok := strings.Cut(strings.TrimSpace(string(raw)), " "); err == nil && ok {
			return f, endpoint{url, token}
		}
	}
	t.Fatal("the workspace's session did not begin")
	return f, endpoint{}
}

// serve starts the ship and waits until it answers; it ends, and its tmux with it, with the test.
func (f fleet) serve(t *testing.T) {
	t.Helper()
	var said bytes.Buffer
	c := exec.Command(f.program, "--atlas", filepath.Join(f.dir, "a"), "serve")
	c.Env, c.Dir, c.Stderr = f.env, f.dir, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		defer late.Stop()
		if err := <-ended; err != nil {
			t.Errorf("ship serve: %v\n%s", err, &said)
		}
		f.endTmux(t)
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		look := exec.Command(f.program, "--atlas", filepath.Join(f.dir, "a"), "status")
		look.Env = f.env
		if look.Run() == nil {
			return
		}
	}
	t.Fatal("ship serve does not answer")
}

// endTmux ends what may be left of the tmux server: a ship that ends takes one without sessions
// with it, which may be under way.
func (f fleet) endTmux(t *testing.T) {
	t.Helper()
	socket, said := filepath.Join(f.dir, "a", ".ship", "tmux.sock"), ""
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		kill := exec.Command("tmux", "-N", "-S", socket, "kill-server")
		kill.Env = f.env
		out, err := kill.CombinedOutput()
		if said = string(out); err != nil && (strings.Contains(said, "no server running") || strings.Contains(said, "No such file")) {
			return
		}
	}
	t.Errorf("the tmux server at %s did not end: %s", socket, said)
}

func (f fleet) ship(t *testing.T, args ...string) {
	t.Helper()
	f.run(t, f.program, append([]string{"--atlas", filepath.Join(f.dir, "a")}, args...)...)
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
