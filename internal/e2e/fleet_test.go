//go:build e2e

// Package e2e runs the real programs together: ship, agent-mcp, tmux, git and the harnesses that
// install.sh brings. Only the model behind a harness is a stand-in.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

func TestMain(m *testing.M) { os.Exit(shipyard.Run(m, nil)) }

// fleet is a ship that serves an atlas of its own, made for one test.
type fleet struct {
	dir   string // everything lies in here
	atlas string
	bin   string   // of programs that a test makes of its own
	env   []string // of every ship command: nothing of the developer's but PATH

	daemon *shipyard.Daemon // ship serve, as it was last started
}

// startFleet makes a fleet that serves the repository r until the test ends.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	origin := f.origin(t, "origin")
	f.serve(t)
	f.ship(t, "repo", "add", "r", origin)
	return f
}

// newFleet makes an atlas, which nobody serves yet.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	dir := shipyard.Dir(t)
	f := &fleet{dir: dir, atlas: filepath.Join(dir, "atlas"), bin: mkdir(t, dir, "bin")}
	f.env = []string{
		"HOME=" + mkdir(t, dir, "home"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh",
		"LANG=C.UTF-8", shipyard.QuickEnd, "ANTHROPIC_API_KEY=no-key-that-works",
	}
	f.ship(t, "init", "--port", "0", mkdir(t, dir, "atlas"))
	return f
}

// origin makes a repository with one commit on main and on each of branches.
func (f *fleet) origin(t *testing.T, name string, branches ...string) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	f.command(t, "git", "init", "-q", "-b", "main", path)
	f.command(t, "git", "-C", path, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost",
		"commit", "-q", "--allow-empty", "-m", "begin")
	for _, b := range branches {
		f.command(t, "git", "-C", path, "branch", b)
	}
	return path
}

func mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs a program to its end, with the fleet's environment, and gives its standard output.
func (f *fleet) command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = f.env
	return output(t, c)
}

// output runs c, which must succeed, and gives its standard output.
func output(t *testing.T, c *exec.Cmd) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(c.Path), c.Args[1:], err, &out, &errs)
	}
	return out.Bytes()
}

// ship runs an operator's command on the atlas.
func (f *fleet) ship(t *testing.T, args ...string) []byte {
	t.Helper()
	return f.command(t, shipyard.Built("ship"), append([]string{"--atlas", f.atlas}, args...)...)
}

// sockets is the folder of the atlas's sockets: .ship, or what .ship/sockets names.
func (f *fleet) sockets(t *testing.T) string {
	own := filepath.Join(f.atlas, ".ship")
	named, err := os.ReadFile(filepath.Join(own, "sockets"))
	if os.IsNotExist(err) {
		return own
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(named))
}

// agentStatus is the wire form of what an agent said of itself, spelled here anew so that a
// changed field name is seen.
type agentStatus struct {
	Repo        string    `json:"repo"`
	Workspace   string    `json:"workspace"`
	SessionID   string    `json:"session_id"`
	Model       string    `json:"model"`
	Provider    string    `json:"provider"`
	Harness     string    `json:"harness"`
	State       string    `json:"state"`
	Description string    `json:"description"`
	StartedAt   time.Time `json:"started_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// workspace is what ship status shows of one workspace, as far as a test looks at it.
type workspace struct {
	Repo     string       `json:"repo"`
	Name     string       `json:"name"`
	Active   bool         `json:"active"`
	Agent    *agentStatus `json:"agent"`
	Observed struct {
		LastCallAt *time.Time `json:"last_call_at"`
		MCPSeen    *bool      `json:"mcp_seen"`
	} `json:"observed"`
}

// status gives what ship status --json shows, by REPO/NAME.
func (f *fleet) status(t *testing.T) map[string]workspace {
	t.Helper()
	out := f.ship(t, "status", "--json")
	var list struct {
		Workspaces []workspace `json:"workspaces"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("ship status --json: %v\n%s", err, out)
	}
	byName := map[string]workspace{}
	for _, w := range list.Workspaces {
		byName[w.Repo+"/"+w.Name] = w
	}
	return byName
}
