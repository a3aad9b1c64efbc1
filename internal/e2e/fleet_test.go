//go:build e2e

// Package e2e runs the real programs together: ship, agent-mcp, tmux, git and the harnesses that
// install.sh brings. Only the model behind a harness is a stand-in.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fleet is a ship that serves an atlas of its own, made for one test.
type fleet struct {
	dir   string // everything lies in here
	atlas string
	bin   string
	env   []string // of every ship command: nothing of the developer's but PATH
}

// startFleet builds the two programs, makes an atlas with the repository r and serves it until
// the test ends.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	// Not t.TempDir: a socket's path must stay under 100 bytes.
	dir, err := os.MkdirTemp("", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(t, dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	f := &fleet{dir: dir, atlas: filepath.Join(dir, "atlas"), bin: filepath.Join(dir, "bin")}
	f.env = []string{
		"HOME=" + mkdir(t, dir, "home"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh",
		"LANG=C.UTF-8", "ANTHROPIC_API_KEY=no-key-that-works",
	}
	f.command(t, "go", "build", "-o", f.bin+"/", "fleet/cmd/ship", "fleet/cmd/agent-mcp")

	origin := filepath.Join(dir, "origin")
	f.command(t, "git", "init", "-q", "-b", "main", origin)
	f.command(t, "git", "-C", origin, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost",
		"commit", "-q", "--allow-empty", "-m", "begin")
	f.ship(t, "init", "--port", "0", mkdir(t, dir, "atlas"))
	f.serve(t)
	f.ship(t, "repo", "add", "r", origin)
	return f
}

// removeAll removes dir, in which a harness that was just told to end may still write.
func removeAll(t *testing.T, dir string) {
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	t.Errorf("something still writes below %s: %v", dir, err)
}

func mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs a program to its end and gives its standard output. Building is done with the
// developer's environment, everything else with the fleet's.
func (f *fleet) command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	if name != "go" {
		c.Env = f.env
	}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, &out, &errs)
	}
	return out.Bytes()
}

// ship runs an operator's command on the atlas.
func (f *fleet) ship(t *testing.T, args ...string) []byte {
	t.Helper()
	return f.command(t, filepath.Join(f.bin, "ship"), append([]string{"--atlas", f.atlas}, args...)...)
}

// serve starts the daemon, waits for its ready line and ends it and its tmux with the test.
func (f *fleet) serve(t *testing.T) {
	t.Helper()
	c := exec.Command(filepath.Join(f.bin, "ship"), "--atlas", f.atlas, "serve")
	c.Env = f.env
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan string, 1)
	go func() {
		var log strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "ready") && ready != nil {
				close(ready)
				ready = nil
			}
		}
		ended <- log.String()
	}()
	t.Cleanup(func() { f.stop(t, c, ended) })
	select {
	case <-ready:
	case log := <-ended:
		ended <- log
		t.Fatalf("ship serve ended before it was ready:\n%s", log)
	case <-time.After(20 * time.Second):
		t.Fatal("ship serve was not ready within 20 s")
	}
}

// stop ends the daemon as an operator would, and then the tmux server, which outlives it.
func (f *fleet) stop(t *testing.T, serve *exec.Cmd, ended chan string) {
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("ship serve was gone before the end: %v", err)
	}
	var log string
	select {
	case log = <-ended:
	case <-time.After(10 * time.Second):
		t.Error("ship serve did not end within 10 s of SIGTERM")
		serve.Process.Kill()
		log = <-ended
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("ship serve: %v", err)
	}
	if t.Failed() {
		t.Logf("ship serve said:\n%s", log)
	}
	f.command(t, "tmux", "-S", filepath.Join(f.sockets(t), "tmux.sock"), "kill-server")
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
