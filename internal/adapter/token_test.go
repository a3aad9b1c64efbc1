package adapter_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
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
	w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token())
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
		refused(t, w.dir(), w.env, "port "+strconv.Itoa(evil.port()))
	})
	t.Run("another port, and a harness that passed on the token alone", func(t *testing.T) {
		w := newWorkspace(t, evil.port())
		refused(t, w.dir(), w.without("FLEET_AGENT_MCP_URL"), "confirms it")
	})
	t.Run("another port, which the session does not confirm", func(t *testing.T) {
		w := newWorkspace(t, 4700)
		w.setPort(t, evil.port())
		w.openSession(t, "FLEET_AGENT_MCP_TOKEN="+w.token(), "FLEET_AGENT_MCP_URL="+w.url(4700))
		refused(t, w.dir(), w.env, "confirms it")
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

// TestAListenerOfAnotherUserGetsNothing: whoever took the port first must not be handed the
// token. It needs root, to have another user.
func TestAListenerOfAnotherUserGetsNothing(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	for name, address := range map[string]string{"loopback": "127.0.0.1:0", "every address": ":0", "every IPv4 address": "0.0.0.0:0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stranger := startStranger(t, address)
			w := newWorkspace(t, stranger.port)
			h := w.start(t)
			h.sendLine(call("1"))
			h.fault("1", -32603, "belongs to user 65534")
			h.end()
			if got := stranger.stop(); got != 0 {
				t.Errorf("the other user's listener read %d bytes", got)
			}
		})
	}
}

type stranger struct {
	port int
	in   io.Closer
	out  *bufio.Reader
	t    *testing.T
}

// startStranger runs this test's own program as the user 65534, listening on address.
func startStranger(t *testing.T, address string) *stranger {
	t.Helper()
	dir, err := os.MkdirTemp("", "other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// The other user can neither enter the folder that go test built in nor t.TempDir.
	own, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "listen")
	if err := os.WriteFile(copied, own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(copied)
	c.Dir, c.Env, c.Stderr = "/", []string{"ADAPTER_TEST_LISTEN=" + address}, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Process.Kill()
		c.Wait()
	})
	s := &stranger{in: in, out: bufio.NewReader(out), t: t}
	s.port = s.number()
	return s
}

func (s *stranger) number() int {
	s.t.Helper()
	var n int
	if _, err := fmt.Fscanln(s.out, &n); err != nil {
		s.t.Fatalf("the other user's listener: %v", err)
	}
	return n
}

// stop ends the listener and gives how many bytes it read.
func (s *stranger) stop() int {
	s.in.Close()
	return s.number()
}

// listenAsAnotherUser prints its port, reads what comes until its input ends, and prints how
// many bytes that was.
func listenAsAnotherUser(address string) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var read atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				n, _ := io.Copy(io.Discard, c)
				read.Add(n)
			}()
		}
	}()
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
	time.Sleep(20 * time.Millisecond) // for what is under way
	fmt.Println(read.Load())
	return 0
}

// TestIPv6IsDialledWhereIPv4Refuses.
func TestIPv6IsDialledWhereIPv4Refuses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 on this machine: %v", err)
	}
	f := &far{listener: l, reply: result}
	f.serve()
	t.Cleanup(f.close)
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(call("1"))
	h.want(answered("1"))
	h.end()
	if host := f.posts()[0].host; !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("the Host is %q", host)
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
