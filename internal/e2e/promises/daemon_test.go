package promises_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// serve starts "ship serve" and waits until it is ready. env replaces the fleet's own where given.
func (f *fleet) serve(t *testing.T, env ...string) {
	t.Helper()
	f.start(t, env...).AwaitReady(t)
}

func (f *fleet) start(t *testing.T, env ...string) *shipyard.Daemon {
	t.Helper()
	c := f.command(shipyard.Built("ship"), "--atlas", f.root, "serve")
	if env != nil {
		c.Env = env
	}
	f.daemon = shipyard.Launch(t, c)
	return f.daemon
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

// tmuxServer is where the atlas's tmux server listens, and its process id.
func (f *fleet) tmuxServer(t *testing.T) (socket string, pid int) {
	t.Helper()
	socket, err := f.socketPath()
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(f.tmux(t, "display-message", "-p", "#{pid}")); err != nil {
		t.Fatal(err)
	}
	return socket, pid
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

// stateFile is one of the ship's own files, whole; one that is not there yet is empty.
func (f *fleet) stateFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(atlas.StateDir(f.root), name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}
