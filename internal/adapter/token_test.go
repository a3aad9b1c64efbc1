package adapter_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/token"
)

// openSession gives the workspace a tmux session that holds these variables, on the atlas's own
// socket, until the test ends.
func (w *workspace) openSession(t *testing.T, vars ...string) {
	t.Helper()
	dir, err := atlas.MakeSockets(w.root)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-s", w.id.SessionName(), "-c", w.dir()}
	for _, v := range vars {
		args = append(args, "-e", v)
	}
	w.tmux(t, dir, append(args, "cat")...)
	t.Cleanup(func() { w.tmux(t, dir, "kill-server") })
}

func (w *workspace) setSession(t *testing.T, name, value string) {
	t.Helper()
	w.tmux(t, atlas.StateDir(w.root), "set-environment", "-t", "="+w.id.SessionName(), name, value)
}

func (w *workspace) tmux(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(dir, atlas.TmuxSocket)}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LANG=C.UTF-8", "SHELL=/bin/sh"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
}

// guarded answers only those who show the one token that is valid now.
type guarded struct{ token atomic.Pointer[string] }

func newGuarded(token string) *guarded {
	g := &guarded{}
	g.token.Store(&token)
	return g
}

func (g *guarded) reply(w http.ResponseWriter, r *http.Request, p posted) {
	if r.Header.Get("Authorization") != "Bearer "+*g.token.Load() {
		w.Header().Set("WWW-Authenticate", "Bearer")
		status(401, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"unauthenticated"}}`)(w, r, p)
		return
	}
	result(w, r, p)
}

// TestTheTokenIsFoundWhateverTheHarnessPassesOn has the environments that harnesses give.
func TestTheTokenIsFoundWhateverTheHarnessPassesOn(t *testing.T) {
	t.Parallel()
	needTmux(t)
	for name, change := range map[string]func(*workspace) []string{
		"inherited":       func(w *workspace) []string { return w.env },
		"scrubbed":        func(w *workspace) []string { return w.without("FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL") },
		"nothing-but-url": func(w *workspace) []string { return w.without("FLEET_AGENT_MCP_TOKEN") },
		"no-path-at-all":  func(w *workspace) []string { return []string{"HOME=/nonexistent"} },
		"unexpanded-braces": func(w *workspace) []string {
			return append(w.without("FLEET_AGENT_MCP_TOKEN"), "FLEET_AGENT_MCP_TOKEN=${FLEET_AGENT_MCP_TOKEN}")
		},
		"unexpanded-dollar": func(w *workspace) []string {
			return append(w.without("FLEET_AGENT_MCP_TOKEN"), "FLEET_AGENT_MCP_TOKEN=$FLEET_AGENT_MCP_TOKEN")
		},
		"unexpanded-env": func(w *workspace) []string {
			return append(w.without("FLEET_AGENT_MCP_TOKEN"), "FLEET_AGENT_MCP_TOKEN={env:FLEET_AGENT_MCP_TOKEN}")
		},
		"unexpanded-url": func(w *workspace) []string {
			return append(w.without("FLEET_AGENT_MCP_URL"), "FLEET_AGENT_MCP_URL=${FLEET_AGENT_MCP_URL}")
		},
		"empty": func(w *workspace) []string {
			return append(w.without("FLEET_AGENT_MCP_TOKEN"), "FLEET_AGENT_MCP_TOKEN=")
		},
		"stale": func(w *workspace) []string {
			return append(w.without("FLEET_AGENT_MCP_TOKEN"), "FLEET_AGENT_MCP_TOKEN="+token.Mint().Reveal())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, nil)
			w := newWorkspace(t, f.port())
			f.reply = newGuarded(w.token()).reply
			w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token(), "FLEET_AGENT_MCP_URL="+w.url(f.port()))
			h := start(t, w.dir(), change(w))
			h.secret = w.token()
			h.sendLine(call("1"))
			h.want(answered("1"))
			h.end()
			if n := len(f.posts()); n != 1 && name != "stale" {
				t.Errorf("the call was sent %d times, so first without the right token", n)
			}
		})
	}
}

func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
}

// TestARotatedTokenIsFollowed: every call in flight at the moment is repeated once and answered.
func TestARotatedTokenIsFollowed(t *testing.T) {
	t.Parallel()
	needTmux(t)
	f := newFar(t, nil)
	w := newWorkspace(t, f.port())
	g := newGuarded(w.token())
	f.reply = g.reply
	w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token())
	h := w.start(t)
	h.alive()
	rotated := token.Mint().Reveal()
	w.setSession(t, "FLEET_AGENT_MCP_TOKEN", rotated)
	g.token.Store(&rotated)
	for i := range 20 {
		h.sendLine(call(strconv.Itoa(i)))
	}
	for range 20 {
		if line := h.line(); !strings.Contains(line, `"ok":true`) {
			t.Errorf("a call was answered with %s", line)
		}
	}
	h.end()
	if n := len(f.posts()); n > 1+2*20 {
		t.Errorf("the far end got %d requests for 21 calls, so one was repeated more than once", n)
	}
}

// TestATokenThatTheShipRefusesIsTriedOnceMore and then reported, without an end.
func TestATokenThatTheShipRefusesIsTriedOnceMore(t *testing.T) { // http-401
	t.Parallel()
	needTmux(t)
	f := newFar(t, newGuarded("another").reply)
	w := newWorkspace(t, f.port())
	w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token())
	h := w.start(t)
	h.sendLine(call("1"))
	if got := h.fault("1", -32603, "unauthenticated"); !strings.Contains(got.Error.Message, "ship token rotate r/w") {
		t.Errorf("the message is %s", got.Error.Message)
	}
	h.end()
	if n := len(f.posts()); n != 2 {
		t.Errorf("the call was sent %d times, want 2", n)
	}
}

// TestAnInactiveWorkspaceIsToldHowToActivate, with a name that a shell would misread, and serves
// as soon as somebody has done so.
func TestAnInactiveWorkspaceIsToldHowToActivate(t *testing.T) {
	t.Parallel()
	needTmux(t)
	f := newFar(t, nil)
	w := newNamedWorkspace(t, f.port(), atlas.ID{Repo: "r", Name: "it's $(x)"})
	f.reply = newGuarded(w.token()).reply
	h := start(t, w.dir(), w.without("FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL"))
	h.sendLine(initialize("0"), call("1"))
	h.fault("0", -32603, `ship activate 'r/it'\''s $(x)'`)
	h.fault("1", -32603, "not active")
	w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token(), "FLEET_AGENT_MCP_URL="+w.url(f.port()))
	h.alive()
	h.end()
}

// TestNoTokenIsSentWhereTheEnvironmentNamesAnotherPlace: a repository may hold an atlas.json of
// its own, and a harness may be started in a neighbour's directory.
func TestNoTokenIsSentWhereTheEnvironmentNamesAnotherPlace(t *testing.T) {
	t.Parallel()
	needTmux(t)
	evil := newFar(t, nil)
	refused := func(t *testing.T, dir string, env []string, why string) {
		t.Helper()
		h := start(t, dir, env)
		h.sendLine(initialize("0"), call("1"))
		h.fault("0", -32603, why)
		h.fault("1", -32603, "no token was sent")
		h.end()
	}
	t.Run("another workspace", func(t *testing.T) {
		w := newWorkspace(t, evil.port())
		env := append(w.without("FLEET_AGENT_MCP_URL"), "FLEET_AGENT_MCP_URL=http://127.0.0.1:"+strconv.Itoa(evil.port())+"/workspaces/r/other/mcp")
		refused(t, w.dir(), env, "names another one")
	})
	t.Run("no address at all", func(t *testing.T) {
		w := newWorkspace(t, evil.port())
		refused(t, w.dir(), append(w.without("FLEET_AGENT_MCP_URL"), "FLEET_AGENT_MCP_URL=junk"), "names another one")
	})
	t.Run("another port, no session", func(t *testing.T) {
		w := newWorkspace(t, 4700)
		w.setPort(t, evil.port())
		// Removing atlas.json would destroy the registry, and ship up changes no running ship.
		refused(t, w.dir(), w.env, fmt.Sprintf("says port %d, but the ship of r/w told its session port 4700; no token was sent. "+
			"Ask the operator to restart the ship (ship down, then ship up), or to set the port in %s back to 4700", evil.port(), filepath.Join(w.root, "atlas.json")))
	})
	t.Run("another port, and a harness that passed on the token alone", func(t *testing.T) {
		w := newWorkspace(t, evil.port())
		refused(t, w.dir(), w.without("FLEET_AGENT_MCP_URL"), "confirms it; no token was sent. Ask the operator whether this atlas is theirs, and if so to run: ship activate r/w")
	})
	t.Run("a token that turns up later, in a session with another port", func(t *testing.T) {
		elsewhere := newFar(t, status(401, "text/plain", "no"))
		w := newWorkspace(t, elsewhere.port())
		h := start(t, w.dir(), w.without("FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL"))
		h.sendLine(call("0"))
		h.fault("0", -32603, "not active")
		w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token(), "FLEET_AGENT_MCP_URL="+w.url(4700))
		h.sendLine(call("1"))
		h.fault("1", -32603, "told its session port 4700")
		h.end()
		for _, p := range elsewhere.posts() {
			if p.header.Get("Authorization") != "" {
				t.Error("the token was sent")
			}
		}
	})
	t.Run("another port, which the session does not confirm", func(t *testing.T) {
		w := newWorkspace(t, 4700)
		w.setPort(t, evil.port())
		w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token(), "FLEET_AGENT_MCP_URL="+w.url(4700))
		refused(t, w.dir(), w.env, "told its session port 4700")
	})
	if n := len(evil.posts()); n != 0 {
		t.Errorf("the port that nobody may trust got %d requests", n)
	}
}

// TestAnAtlasInsideARepositoryIsPassedOver, at its root and below: the workspace's own ship is
// asked, and the repository's port gets nothing.
func TestAnAtlasInsideARepositoryIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]string{"at its root": "", "below": "sub/r/w"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evil, f := newFar(t, nil), newFar(t, nil)
			w := newWorkspace(t, f.port())
			dir := filepath.Join(w.dir(), below)
			if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			writeAtlas(t, w.dir(), evil.port())
			if below != "" {
				writeAtlas(t, filepath.Join(w.dir(), "sub"), evil.port())
			}
			h := start(t, dir, w.env)
			h.sendLine(call("1"))
			h.want(answered("1"))
			h.end()
			if n := len(evil.posts()); n != 0 {
				t.Errorf("the repository's port got %d requests", n)
			}
		})
	}
}

// TestAShipThatMovedIsFollowed: atlas.json and the session name the new port, the environment
// that the harness got long ago the old one.
func TestAShipThatMovedIsFollowed(t *testing.T) {
	t.Parallel()
	needTmux(t)
	old, moved := newFar(t, nil), newFar(t, nil)
	w := newWorkspace(t, old.port())
	w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token(), "FLEET_AGENT_MCP_URL="+w.url(old.port()))
	h := w.start(t)
	h.alive()
	old.close()
	h.sendLine(call("1"))
	w.setPort(t, moved.port())
	time.Sleep(30 * time.Millisecond) // atlas.json tells first
	w.setSession(t, "FLEET_AGENT_MCP_URL", w.url(moved.port()))
	h.want(answered("1"))
	h.end()

	late := w.start(t)
	late.alive()
	late.end()
	if n := len(moved.posts()); n != 2 {
		t.Errorf("the new port got %d requests, want 2", n)
	}
}

// TestTheTokenIsNeverShown: not in an error that quotes a body which echoes it.
func TestTheTokenIsNeverShown(t *testing.T) { // token-in-stderr
	t.Parallel()
	f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		status(500, "text/plain", "you sent "+r.Header.Get("Authorization"))(w, r, p)
	})
	h := newWorkspace(t, f.port()).start(t) // the kit looks at both outputs
	h.sendLine(call("1"), `{"jsonrpc":"2.0","method":"notifications/x"}`)
	if got := h.fault("1", -32603, "HTTP 500"); !strings.Contains(got.Error.Data.Body, "fleet_[redacted]") {
		t.Errorf("the body is quoted as %q", got.Error.Data.Body)
	}
	h.end()
}
