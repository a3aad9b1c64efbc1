package tmux_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/internal/e2e/process"
	"fleet/internal/tmux"
)

// name is a session's name as Fleet makes them.
const name = "ws-0000000000000000000000000000000000000000000000000000000000000001"

// testServer is a real tmux server on a socket of its own.
type testServer struct {
	*tmux.Server
	dir, socket string
}

func TestMain(m *testing.M) {
	process.Overlap()
	os.Exit(m.Run())
}

func start(t *testing.T, environ ...string) *testServer {
	t.Helper()
	s := open(t, environ...)
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
	return s
}

func open(t *testing.T, environ ...string) *testServer {
	t.Helper()
	// Not t.TempDir: a socket's path must stay under 100 bytes.
	dir, err := os.MkdirTemp("", "ft")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{dir: dir, socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		s.try("kill-server")
		os.RemoveAll(dir)
	})
	s.reopen(t, environ...)
	return s
}

// reopen is what a new ship does.
func (s *testServer) reopen(t *testing.T, environ ...string) {
	t.Helper()
	environ = append(environ, "PATH="+os.Getenv("PATH"), "HOME="+s.dir, "SHELL=/bin/sh")
	server, err := tmux.Open(t.Context(), tmux.Config{Socket: s.socket, Environ: environ})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	s.Server = server
}

// try runs tmux by hand, as the operator may.
func (s *testServer) try(args ...string) (string, error) {
	c := exec.Command("tmux", append([]string{"-u", "-N", "-S", s.socket}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

func (s *testServer) byHand(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.try(args...)
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return out
}

func (s *testServer) pid(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(s.byHand(t, "display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (s *testServer) make(t *testing.T, n tmux.NewSession) {
	t.Helper()
	if n.Name == "" {
		n.Name = name
	}
	if n.Dir == "" {
		n.Dir = s.dir
	}
	if err := s.New(t.Context(), n); err != nil {
		t.Fatalf("New(%q): %v", n.Name, err)
	}
}

// read waits for a file that a process in a pane writes and renames into place.
func read(t *testing.T, path string) string {
	t.Helper()
	var raw []byte
	eventually(t, "somebody writes "+filepath.Base(path), func() bool {
		var err error
		raw, err = os.ReadFile(path)
		return err == nil
	})
	return string(raw)
}

func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("not within 10 s: %s", what)
}

// running tells whether s still has its session.
func (s *testServer) running(session string) bool {
	_, err := s.try("has-session", "-t", "="+session)
	return err == nil
}

func TestASecondStartLeavesSessionsAlone(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.make(t, tmux.NewSession{})
	before := s.pid(t)
	s.reopen(t)
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
	if !s.running(name) || s.pid(t) != before {
		t.Error("a second Start did not leave server and session as they were")
	}
}

func TestStartCleansTheEnvironmentOfAServerThatSomebodyElseStarted(t *testing.T) {
	t.Parallel()
	s := open(t, "TZ=UTC")
	c := exec.Command("tmux", "-S", s.socket, "new-session", "-d", "-s", "theirs")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "GITHUB_TOKEN=secret", "CLAUDECODE=1", "TZ=Mars"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
	out := filepath.Join(s.dir, "env")
	s.make(t, tmux.NewSession{Command: []string{"sh", "-c", "env > " + out + ".x; mv " + out + ".x " + out + "; sleep 60"}})
	env := read(t, out)
	for _, gone := range []string{"GITHUB_TOKEN", "CLAUDECODE", "Mars"} {
		if strings.Contains(env, gone) {
			t.Errorf("the pane's environment holds %s:\n%s", gone, env)
		}
	}
	if !strings.Contains(env, "TZ=UTC\n") || !s.running("theirs") {
		t.Error("Start lost the operator's own variable or the other's session")
	}
}

func TestARemovedSocketIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.make(t, tmux.NewSession{})
	pid := s.pid(t)
	if err := os.Remove(s.socket); err != nil {
		t.Fatal(err)
	}
	panes, err := s.Panes(t.Context())
	if err != nil || len(panes) != 1 {
		t.Fatalf("Panes without the socket file = %v, %v; want the one pane", panes, err)
	}

	os.Remove(s.socket)
	s.reopen(t) // a ship that has only the file with the process id to go by
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("Start without the socket file: %v", err)
	}
	if got := s.pid(t); got != pid || !s.running(name) {
		t.Errorf("Start made another server (%d, was %d) and left the sessions behind", got, pid)
	}
}

func TestAReusedProcessIDIsLeftInPeace(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.byHand(t, "kill-server")
	eventually(t, "the server ends", func() bool { _, err := s.try("list-sessions"); return err != nil })
	os.Remove(s.socket)
	// SIGUSR1 ends a process that does not expect it.
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	if err := os.WriteFile(s.socket+".pid", []byte(strconv.Itoa(victim.Process.Pid)+" 12345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.reopen(t)
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("Start signalled a process that is not the server: %v", err)
	default:
		victim.Process.Kill()
		<-ended
	}
}

func TestErrorsTellWhatIsProved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	other := tmux.NewSession{Name: name, Dir: "/", Env: []tmux.Variable{{Name: "X", Value: "new"}}, Options: []tmux.Option{{Name: "@x", Value: "new"}}}
	cases := map[string]struct {
		do   func(t *testing.T, s *testServer) error
		want tmux.Kind
	}{
		"no such session to end": {func(_ *testing.T, s *testServer) error { return s.Kill(ctx, "ws-none") }, tmux.NoSession},
		"only a longer name":     {func(_ *testing.T, s *testServer) error { return s.Kill(ctx, name[:20]) }, tmux.NoSession},
		"the last session is gone": {func(t *testing.T, s *testServer) error {
			if err := s.Kill(ctx, name); err != nil {
				t.Fatal(err)
			}
			defer s.make(t, tmux.NewSession{Env: []tmux.Variable{{Name: "X", Value: "old"}}})
			_, err := s.FirstPane(ctx, name)
			if set := s.Set(ctx, tmux.Change{Session: name, Options: []tmux.Option{{Name: "@x", Value: "1"}}}); !tmux.Is(set, tmux.NoSession) {
				return set
			}
			if kill := s.Kill(ctx, name); !tmux.Is(kill, tmux.NoSession) {
				return kill
			}
			return err
		}, tmux.NoSession},
		"no such session to write to": {func(_ *testing.T, s *testServer) error {
			return s.Set(ctx, tmux.Change{Session: "ws-none", Options: []tmux.Option{{Name: "@x", Value: "1"}}})
		}, tmux.NoSession},
		"no such session to read": {func(_ *testing.T, s *testServer) error { _, err := s.FirstPane(ctx, "ws-none"); return err }, tmux.NoSession},
		"a session of that name":  {func(_ *testing.T, s *testServer) error { return s.New(ctx, other) }, tmux.Duplicate},
		"the server was killed": {func(t *testing.T, s *testServer) error {
			syscall.Kill(s.pid(t), syscall.SIGKILL)
			eventually(t, "the server dies", func() bool { _, err := s.try("list-sessions"); return err != nil })
			_, err := s.Panes(ctx)
			return err
		}, tmux.NoServer},
		"the server was killed and its socket removed": {func(t *testing.T, s *testServer) error {
			syscall.Kill(s.pid(t), syscall.SIGKILL)
			eventually(t, "the server dies", func() bool { _, err := s.try("list-sessions"); return err != nil })
			os.Remove(s.socket)
			_, err := s.Panes(ctx)
			return err
		}, tmux.NoServer},
		"the server does not answer": {func(t *testing.T, s *testServer) error {
			pid := s.pid(t)
			syscall.Kill(pid, syscall.SIGSTOP)
			defer syscall.Kill(pid, syscall.SIGCONT)
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			_, err := s.Panes(short)
			return err
		}, tmux.Unanswered},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.make(t, tmux.NewSession{Env: []tmux.Variable{{Name: "X", Value: "old"}}})
			if err := c.do(t, s); !tmux.Is(err, c.want) {
				t.Errorf("got %v, want kind %d", err, c.want)
			}
			if c.want == tmux.NoServer {
				return
			}
			if got := s.byHand(t, "show-environment", "-t", "="+name, "X"); got != "X=old" {
				t.Errorf("afterwards the session has %q, want it untouched", got)
			}
			if got := s.byHand(t, "show-options", "-qv", "-t", "="+name+":", "@x"); got != "" {
				t.Errorf("afterwards the session has the option %q, want it untouched", got)
			}
		})
	}
}

func TestAnOldOrMissingTmuxSaysHowToInstallOne(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	for printed, fits := range map[string]bool{
		"tmux 3.2": true, "tmux 3.2a": true, "tmux 3.3a": true, "tmux next-3.6": true, "tmux master": true, "tmux 4.0": true,
		"tmux 3.1c": false, "tmux 2.9a": false, "tmux 1.8": false, "what": false,
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\necho '" + printed + "'\n"
		if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		_, err := tmux.Open(t.Context(), tmux.Config{Socket: filepath.Join(dir, "s")})
		if fits != (err == nil) {
			t.Errorf("Open with %q: %v, want that it fits: %t", printed, err, fits)
		}
		var missing *tmux.MissingError
		if !fits && (!errors.As(err, &missing) || !strings.Contains(missing.Hint(), "apt-get install tmux") || !strings.Contains(missing.Hint(), "brew install tmux")) {
			t.Errorf("Open with %q: %v does not say how to install", printed, err)
		}
	}
}

// A server that has lost its last session says "no current target", which is no failure to answer.
func TestAServerWithoutSessionsHasNoPanes(t *testing.T) {
	t.Parallel()
	s := start(t)
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 0 {
		t.Errorf("Panes of an empty server = %v, %v, want none", panes, err)
	}
	if err := s.New(t.Context(), tmux.NewSession{Name: name, Dir: s.dir}); err != nil {
		t.Fatal(err)
	}
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 1 {
		t.Errorf("Panes of one session = %v, %v, want one", panes, err)
	}
	if err := s.Kill(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 0 {
		t.Errorf("Panes after the last session ended = %v, %v, want none", panes, err)
	}
}

// kill-server returns before the server is gone, and the next start-server can meet it.
func TestStartOutlivesAServerThatIsEnding(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 20 {
		if err := s.New(t.Context(), tmux.NewSession{Name: name, Dir: s.dir, Command: []string{"sleep", "100"}}); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command("tmux", "-S", s.socket, "kill-server").Run(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatalf("Start right after kill-server: %v", err)
		}
	}
}

func TestOnlyAnEmptyServerIsEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := s.New(t.Context(), tmux.NewSession{Name: name, Dir: s.dir}); err != nil {
		t.Fatal(err)
	}
	if err := s.EndIfEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a server with a session was ended: %v", err)
	}
	if err := s.Kill(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds nobody
		if err := s.EndIfEmpty(t.Context()); err != nil {
			t.Errorf("EndIfEmpty = %v", err)
		}
	}
	if err := s.Ping(t.Context()); !tmux.Is(err, tmux.NoServer) && !tmux.Is(err, tmux.NoSocket) {
		t.Errorf("an empty server still runs: %v", err)
	}
}
