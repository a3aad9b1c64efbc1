package promises_test

import (
	"context"
	"encoding/json"
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

	"fleet/internal/atlas"
)

// buffer collects what several goroutines write.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write makes buffer a process's output.
func (b *buffer) Write(p []byte) (int, error) {
	b.add(string(p))
	return len(p), nil
}

func (b *buffer) add(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.WriteString(s)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// daemon is a "ship serve" of ours.
type daemon struct {
	cmd    *exec.Cmd
	stderr *buffer
	ended  chan struct{} // closed when the process has been waited for
}

// serve starts "ship serve" and waits until it is ready. env replaces the fleet's own where given.
func (f *fleet) serve(t *testing.T, env ...string) {
	t.Helper()
	d := f.start(t, env...)
	ready := func() bool { return strings.Contains(d.stderr.String(), "ready") || d.over() }
	if !poll(ready) || d.over() {
		t.Fatalf("ship serve did not become ready; it said: %s", d.stderr)
	}
}

func (f *fleet) start(t *testing.T, env ...string) *daemon {
	t.Helper()
	d := &daemon{cmd: f.command(program("ship"), "--atlas", f.root, "serve"), stderr: &buffer{}, ended: make(chan struct{})}
	if env != nil {
		d.cmd.Env = env
	}
	d.cmd.Stderr = d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.daemon = d
	go func() { _ = d.cmd.Wait(); close(d.ended) }()
	return d
}

func (d *daemon) over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

func (d *daemon) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal ship: %v", err)
	}
}

// kill ends the ship without warning, as a crash does.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	d.signal(t, syscall.SIGKILL)
	<-d.ended
}

// stop ends the ship as an operator does. One that has ended already is left alone.
func (d *daemon) stop(t *testing.T) {
	if d.over() {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Error("ship serve did not end after SIGTERM")
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	if t.Failed() {
		t.Logf("ship serve said:\n%s", d.stderr)
	}
}

func (f *fleet) socketPath() (string, error) {
	dir, err := atlas.Sockets(f.root)
	return filepath.Join(dir, atlas.TmuxSocket), err
}

// tmux runs tmux on the atlas's own server, as an operator who looks behind the curtain does.
func (f *fleet) tmux(t *testing.T, args ...string) string {
	t.Helper()
	socket, err := f.socketPath()
	if err != nil {
		t.Fatal(err)
	}
	r := f.run(t, f.command("tmux", append([]string{"-u", "-N", "-S", socket}, args...)...))
	if r.code != 0 {
		t.Fatalf("tmux %q = %d: %s", args, r.code, r.stderr)
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

// session names the tmux session of a workspace of "r", as a target.
func session(t *testing.T, name string) string { return sessionOf(t, "r", name) }

func sessionOf(t *testing.T, repo, name string) string {
	t.Helper()
	id, err := atlas.NewID(repo, name)
	if err != nil {
		t.Fatal(err)
	}
	return "=" + id.SessionName()
}

// sessionEnv is what a process started in the workspace's session finds in its environment.
func (f *fleet) sessionEnv(t *testing.T, name string) map[string]string {
	t.Helper()
	vars := map[string]string{}
	for line := range strings.Lines(f.tmux(t, "show-environment", "-t", session(t, name))) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			vars[key] = value
		}
	}
	return vars
}

func (f *fleet) token(t *testing.T, name string) string {
	t.Helper()
	tok := f.sessionEnv(t, name)["FLEET_AGENT_MCP_TOKEN"]
	if !strings.HasPrefix(tok, "fleet_") || len(tok) != 49 {
		t.Fatalf("the session of r/%s holds %d bytes as its token, want fleet_ and 43 more", name, len(tok))
	}
	return tok
}

// pane is the process id of a workspace's first pane.
func (f *fleet) pane(t *testing.T, name string) int {
	t.Helper()
	pid, err := strconv.Atoi(f.tmux(t, "display-message", "-p", "-t", session(t, name)+":", "#{pane_pid}"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// operator calls the operator API as ship's own commands do.
func (f *fleet) operator(ctx context.Context, method, body string, out any) error {
	dir, err := atlas.Sockets(f.root)
	if err != nil {
		return err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, atlas.OperatorSocket))
	}
	c := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ship/v1/"+method, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// state files, whole; one that is not there yet is empty.
func (f *fleet) stateFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(atlas.StateDir(f.root), name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}
