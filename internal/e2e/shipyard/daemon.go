package shipyard

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/internal/e2e/talk"
)

// Daemon is a "ship serve" or "ship bridge serve" in the foreground. Whoever launches it ends it.
type Daemon struct {
	cmd   *exec.Cmd
	said  talk.Words
	ended chan struct{} // closed once it has been waited for
}

// Launch starts c, whose standard error is the daemon's log.
func Launch(t testing.TB, c *exec.Cmd) *Daemon {
	t.Helper()
	d := &Daemon{cmd: c, ended: make(chan struct{})}
	c.Stderr = &d.said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		_ = c.Wait() // State has its status
	}()
	return d
}

// AwaitReady returns once the daemon serves, and fails the test if it never does.
func (d *Daemon) AwaitReady(t testing.TB) {
	t.Helper()
	ready := func() bool { return strings.Contains(d.Said(), "msg=ready") }
	if !Poll(func() bool { return ready() || d.Over() }) || !ready() {
		t.Fatalf("%q did not become ready; it said: %s", d.cmd.Args, d.Said())
	}
}

// Said is what stands in the daemon's log so far.
func (d *Daemon) Said() string { return d.said.String() }

// PID is the daemon's process id.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Ended is closed once the daemon has ended.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// Over says that the daemon has ended.
func (d *Daemon) Over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// State is how the daemon ended; nil before that.
func (d *Daemon) State() *os.ProcessState {
	if !d.Over() {
		return nil
	}
	return d.cmd.ProcessState
}

// Signal sends s to a daemon that must be there.
func (d *Daemon) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %q: %v", d.cmd.Args, err)
	}
}

// Kill ends a daemon that must be there without warning, as a crash does.
func (d *Daemon) Kill(t testing.TB) {
	t.Helper()
	d.Signal(t, syscall.SIGKILL)
	<-d.ended
}

// Stop ends the daemon as an operator does, and holds it to end with status 0. One that was held by
// SIGSTOP goes on for that; one that has ended already is left alone.
func (d *Daemon) Stop(t testing.TB) {
	t.Helper()
	if d.Over() {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(Patience):
		t.Errorf("%q did not end after SIGTERM", d.cmd.Args)
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("%q ended with %s after SIGTERM, want status 0", d.cmd.Args, d.cmd.ProcessState)
	}
	if t.Failed() {
		t.Logf("%q said:\n%s", d.cmd.Args, d.Said())
	}
}
