//go:build e2e

package clients

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fleet/internal/bridge/bridgetest"
)

// patience bounds every wait but those of a client's whole run.
const patience = 20 * time.Second

// remote is how the forge's repository is registered; git fetches it from a directory.
const remote = "https://github.example/acme/widgets.git"

// fleet is a ship with the repository "widgets" of a stand-in forge, made for one test.
type fleet struct {
	dir   string
	atlas string
	env   []string // of every program: nothing of the developer's but PATH
	gate  *gate
	repo  *bridgetest.Repo
}

// startFleet serves an atlas of its own until the test ends.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	// Not t.TempDir: a socket's path must stay under 100 bytes.
	dir, err := os.MkdirTemp("", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !poll(func() bool { return os.RemoveAll(dir) == nil }) {
			t.Errorf("something still writes below %s", dir)
		}
	})
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	f := &fleet{dir: dir, atlas: filepath.Join(dir, "atlas")}
	gh := bridgetest.NewGitHub(t)
	f.repo, f.gate = gh.Repo("acme/widgets"), newGate(t, gh.URL())
	f.env = []string{
		"HOME=" + f.mkdir(t, "home"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GITHUB_TOKEN=" + gh.Token(),
	}
	f.ship(t, "init", "--port", "0", f.atlas)
	origin := filepath.Join(dir, "origin")
	f.command(t, "git", "init", "-q", "-b", "main", origin)
	f.command(t, "git", "-C", origin, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost", "commit", "-q", "--allow-empty", "-m", "begin")
	f.command(t, "git", "config", "--global", "url."+origin+".insteadOf", remote)
	f.ship(t, "repo", "add", "widgets", remote, "--forge", "github", "--api-url", f.gate.url)
	f.serve(t)
	return f
}

func (f *fleet) mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{f.dir}, elem...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ship runs an operator's command on the atlas, which must succeed.
func (f *fleet) ship(t *testing.T, args ...string) []byte {
	t.Helper()
	return f.command(t, program("ship"), append([]string{"--atlas", f.atlas}, args...)...)
}

func (f *fleet) command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	c.Env, c.Stdout, c.Stderr = f.env, &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, &out, &errs)
	}
	return out.Bytes()
}

// serve starts the ship. It ends with the test, and so does its tmux.
func (f *fleet) serve(t *testing.T) {
	t.Helper()
	c := exec.Command(program("ship"), "--atlas", f.atlas, "serve")
	c.Env = f.env
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ready, over := make(chan struct{}), make(chan struct{})
	said := &log{}
	go func() {
		defer close(over)
		said.read(stderr, sync.OnceFunc(func() { close(ready) }))
		_ = c.Wait() // its status says no more than that it was ended
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		<-over
		late.Stop()
		f.endTmux(t)
		if t.Failed() {
			t.Logf("the ship said:\n%s", said)
		}
	})
	select {
	case <-ready:
	case <-over:
		t.Fatalf("ship serve ended:\n%s", said)
	case <-time.After(patience):
		t.Fatalf("ship serve is not ready:\n%s", said)
	}
}

// endTmux ends what may be left of the tmux server: a ship that ends takes one without sessions
// with it, which may be under way.
func (f *fleet) endTmux(t *testing.T) {
	t.Helper()
	said := ""
	gone := func() bool {
		c := exec.Command("tmux", "-N", "-S", filepath.Join(f.atlas, ".ship", "tmux.sock"), "kill-server")
		c.Env = f.env
		out, err := c.CombinedOutput()
		said = string(out)
		return err != nil && (strings.Contains(said, "no server running") || strings.Contains(said, "No such file"))
	}
	if !poll(gone) {
		t.Errorf("the tmux server did not end: %s", said)
	}
}

// poll asks until done says yes, for as long as patience lasts.
func poll(done func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

// log is what a program wrote on standard error.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) read(r io.Reader, ready func()) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		l.mu.Lock()
		l.text.WriteString(lines.Text() + "\n")
		l.mu.Unlock()
		if strings.Contains(lines.Text(), "msg=ready") {
			ready()
		}
	}
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
