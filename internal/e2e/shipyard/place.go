package shipyard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait for what must come. Nothing waits that long unless it is broken.
const Patience = time.Minute

// Dir makes a folder that is removed with the test. Its path has no symbolic link in it and is
// short, unlike that of t.TempDir: a socket's path must stay under 100 bytes.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { RemoveAll(t, dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// RemoveAll removes dir, in which a program that was just told to end may still write.
func RemoveAll(t testing.TB, dir string) {
	t.Helper()
	var err error
	if !Poll(func() bool { err = os.RemoveAll(dir); return err == nil }) {
		t.Errorf("something still writes below %s: %v", dir, err)
	}
}

// Poll asks until done says yes, and reports whether it did within Patience.
func Poll(done func() bool) bool { return PollEvery(20*time.Millisecond, done) }

// PollEvery is Poll where asking is dear, a process each time, say: it pauses for so long in between.
func PollEvery(pause time.Duration, done func() bool) bool {
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(pause) {
		if done() {
			return true
		}
	}
	return done()
}

// EndTmux ends the tmux server at socket, and waits until it is gone: a ship that ends takes one
// without sessions with it, which may be under way.
func EndTmux(t testing.TB, socket string) {
	t.Helper()
	said := ""
	gone := func() bool {
		out, err := exec.Command("tmux", "-N", "-S", socket, "kill-server").CombinedOutput()
		said = string(out)
		return err != nil && (strings.Contains(said, "no server running") || strings.Contains(said, "No such file"))
	}
	if !Poll(gone) {
		t.Errorf("the tmux server at %s did not end: %s", socket, said)
	}
}
