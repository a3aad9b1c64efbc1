package promises_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fleet/internal/e2e/shipyard"
)

// terminal opens a pseudo-terminal of a usual size.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal can be had here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// shown is what a ship command writes to a terminal. One that goes on is told to end after a while.
func (v *victim) shown(t *testing.T, args ...string) string {
	t.Helper()
	master, slave := terminal(t)
	c := v.command(shipyard.Built("ship"), append([]string{"--atlas", v.fleet.root}, args...)...)
	c.Stdout, c.Stderr = slave, slave
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	enough := time.AfterFunc(5*time.Second, func() { _ = c.Process.Signal(syscall.SIGTERM) })
	defer enough.Stop()
	raw, _ := io.ReadAll(master) // ends with an error once nobody holds the other end
	_ = c.Wait()
	return string(raw)
}

// What ship itself may write to a terminal: line ends, its colours, and the sequences by which -w
// and progress start a line or the screen anew.
func TestATerminalGetsNoSequencesButShipsOwn(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.say(t, "create", "gears/two")
	v.say(t, "call", "gears/one", "agent_init", `{"model":"m","provider":"p","harness":"h\u202e"}`)
	v.say(t, "call", "gears/one", "agent_status", `{"state":"awaiting","description":`+quoted(t, payloads()["right to left"]+payloads()["without width"]+"世界")+`}`)
	head := filepath.Join(v.fleet.root, "gears", "one", ".git", "HEAD")
	if err := os.WriteFile(head, []byte("ref: refs/heads/"+strings.ReplaceAll(everything(), "\n", "")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.far.Issue("i").Body(everything())
	own := strings.NewReplacer("\r\n", "\n", "\x1b[1;33m", "", "\x1b[32m", "", "\x1b[31m", "", "\x1b[0m", "", "\x1b[H\x1b[2J", "", "\r\x1b[K", "")
	coloured := 0
	for _, words := range []string{"ls", "status", "status gears/one", "status -w", "events", "call gears/one repo_issue_list", "create gears/three", "remove gears/one", "status --json", "repo list", "nonsense\x1b[2J"} {
		out := v.shown(t, strings.Split(words, " ")...)
		if found := harmful(own.Replace(out)); found != "" || out == "" {
			t.Errorf("ship %q shows %s on a terminal, of %d bytes", words, found, len(out))
		}
		coloured += strings.Count(out, "\x1b[1;33m")
	}
	if coloured < 2 {
		t.Errorf("an agent that waits was shown in colour %d times, want it in status and status -w: this test sees no terminal", coloured)
	}
}
