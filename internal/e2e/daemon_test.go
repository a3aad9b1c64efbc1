//go:build e2e

package e2e

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a program of ours in the foreground that says on standard error when it serves.
type daemon struct {
	command *exec.Cmd
	over    chan struct{} // closed once it has ended
	err     error         // of its end, once over is closed

	mu  sync.Mutex
	log strings.Builder
}

// startDaemon runs c until it says "ready".
func startDaemon(t *testing.T, c *exec.Cmd) *daemon {
	t.Helper()
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	d := &daemon{command: c, over: make(chan struct{})}
	ready := make(chan struct{})
	go d.read(stderr, sync.OnceFunc(func() { close(ready) }))
	select {
	case <-ready:
	case <-d.over:
		t.Fatalf("%q ended before it was ready: %v\n%s", c.Args, d.err, d.said())
	case <-time.After(time.Minute):
		_ = c.Process.Kill()
		<-d.over
		t.Fatalf("%q was not ready within a minute:\n%s", c.Args, d.said())
	}
	return d
}

func (d *daemon) read(stderr io.Reader, ready func()) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		d.mu.Lock()
		d.log.WriteString(lines.Text() + "\n")
		d.mu.Unlock()
		if strings.Contains(lines.Text(), "msg=ready") {
			ready()
		}
	}
	d.err = d.command.Wait()
	close(d.over)
}

// said is what the daemon wrote on standard error so far.
func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// stop ends the daemon as an operator would.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("%q was gone before the end: %v", d.command.Args, err)
	}
	select {
	case <-d.over:
	case <-time.After(10 * time.Second):
		t.Errorf("%q did not end within 10 s of SIGTERM", d.command.Args)
		_ = d.command.Process.Kill()
		<-d.over
	}
	if d.err != nil {
		t.Errorf("%q: %v", d.command.Args, d.err)
	}
	if t.Failed() {
		t.Logf("%q said:\n%s", d.command.Args, d.said())
	}
}

// kill ends the daemon as a machine does that has no memory left.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.over
}

// serve starts the ship, with env on top of what every command gets. The last one that was
// started ends with the test, and so does its tmux.
func (f *fleet) serve(t *testing.T, env ...string) {
	t.Helper()
	c := exec.Command(filepath.Join(f.bin, "ship"), "--atlas", f.atlas, "serve")
	c.Env = slices.Concat(f.env, env)
	again := f.daemon != nil
	f.daemon = startDaemon(t, c)
	if again {
		return
	}
	t.Cleanup(func() {
		f.daemon.stop(t)
		f.endTmux(t)
	})
}

// endTmux ends what may be left of the tmux server: a ship that ends takes one without sessions
// with it, which may be under way.
func (f *fleet) endTmux(t *testing.T) {
	t.Helper()
	socket, said := filepath.Join(f.sockets(t), "tmux.sock"), ""
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
