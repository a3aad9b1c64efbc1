package promises_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// The ship starts with no tmux on the whole machine: in a mount namespace of its own, where
// something else stands in each one's place.
func TestWithoutAnyTmuxTheErrorSaysHowToInstallIt(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can hide the machine's tmux from a program")
	}
	f := newFleet(t)
	const script = `set -e; IFS=:; for d in $PATH:/usr/bin:/usr/local/bin; do test ! -e "$d/tmux" || mount --bind /dev/null "$d/tmux"; done; exec "$@"`
	c := f.command("unshare", "--mount", "sh", "-c", script, "sh", shipyard.Built("ship"), "--atlas", f.root, "serve")
	if probe := f.run(t, f.command("unshare", "--mount", "true")); probe.code != 0 {
		t.Skipf("this machine makes no mount namespaces: %s", probe.stderr)
	}
	checkRefusal(t, []string{"serve"}, f.run(t, c), "tmux is not installed", "install tmux 3.2", "apt-get install tmux")
}

// TestAFullDiskRefusesWritesAndAnswersReads keeps the atlas on a file system of 16 MiB.
func TestAFullDiskRefusesWritesAndAnswersReads(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	mountSmall(t, f)
	f.serve(t)
	tokens := f.populate(t, "one")
	a := f.harness(t, "one")
	if r := f.http(t, ask{method: http.MethodGet, path: "/readyz"}); r.status != http.StatusOK {
		t.Fatalf("/readyz = %d %s, want 200 before the disk is full", r.status, r.body)
	}
	full := fill(t, f)
	if !shipyard.Poll(func() bool { return f.http(t, ask{method: http.MethodGet, path: "/readyz"}).status == 503 }) {
		t.Error("/readyz is not 503 on a full disk")
	}
	if r := f.http(t, ask{method: http.MethodGet, path: "/healthz"}); r.status != http.StatusOK {
		t.Errorf("/healthz = %d on a full disk, want 200", r.status)
	}
	kept := untilRefused(t, a)
	r := a.call(t, "agent_init", `{"model":"other","provider":"p","harness":"`+strings.Repeat("h", 250)+`"}`).tool(t)
	if !r.isError || !strings.HasPrefix(r.text, "unavailable: ") || !strings.Contains(r.text, "\nNext: ") {
		t.Errorf("agent_init on a full disk = %+v, want unavailable and a next step", r)
	}
	if got := a.call(t, "agent_status_get", "{}").ok(t); got != kept {
		t.Errorf("after refused calls agent_status_get = %s, want %s", got, kept)
	}
	if got := f.state(t, "one"); got != "active" || !f.opens(t, "one", tokens["one"]) {
		t.Errorf("on a full disk r/one is %q, want active", got)
	}
	if r := f.ship(t, "create", "r/two"); r.code != 1 || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("ship create on a full disk = %d %q, want 1 and one line", r.code, r.stderr)
	}
	if got := f.state(t, "two"); got != "missing" {
		t.Errorf("after a create that failed ship ls shows r/two as %q", got)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if !shipyard.Poll(func() bool { return f.http(t, ask{method: http.MethodGet, path: "/readyz"}).status == 200 }) {
		t.Error("/readyz is not 200 again when there is room")
	}
	a.register(t, "room again")
	if got := statusOf(t, a.call(t, "agent_status_get", "{}").ok(t)); got.Description != "room again" {
		t.Errorf("agent_status_get with room again = %+v", got)
	}
	if got := f.deactivations(t, "one"); len(got) > 0 { // reads every line
		t.Errorf("workspace.deactivated was reported: %q", got)
	}
	if out := f.must(t, "events", "--json"); !strings.Contains(out, "room again") {
		t.Errorf("ship events lacks the status that there was room for: %s", out)
	}
	f.activate(t, "two")
}

// untilRefused reports until the last block of the event log is full too, and gives the status
// that was accepted last.
func untilRefused(t *testing.T, a *adapter) (kept string) {
	t.Helper()
	for range 100 {
		r := a.call(t, "agent_status", `{"state":"idle","description":"`+strings.Repeat("d", 900)+`"}`).tool(t)
		if !r.isError {
			kept = r.text
			continue
		}
		if !strings.HasPrefix(r.text, "unavailable: ") || !strings.Contains(r.text, "\nNext: ") {
			t.Errorf("agent_status on a full disk = %+v, want unavailable and a next step", r)
		}
		if kept == "" {
			kept = a.call(t, "agent_status_get", "{}").ok(t)
		}
		return kept
	}
	t.Fatal("a hundred statuses were taken on a full disk")
	return ""
}

// mountSmall puts the atlas of f, which is not served yet, on a small file system.
func mountSmall(t *testing.T, f *fleet) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	f.shell(t, f.dir, "mv a a.kept && mkdir a")
	if r := f.run(t, f.command("mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "promises", f.root)); r.code != 0 {
		t.Skipf("this machine mounts no tmpfs: %s", r.stderr)
	}
	t.Cleanup(func() {
		f.end(t) // the programs in there, before the file system
		if out, err := exec.Command("umount", "-l", f.root).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", f.root, err, out)
		}
	})
	f.shell(t, f.dir, "cp -a a.kept/. a/ && rm -r a.kept")
}

// fill leaves no room on the atlas's disk, and gives the file to remove again.
func fill(t *testing.T, f *fleet) string {
	t.Helper()
	path := filepath.Join(f.root, "full")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for range 1000 {
			if _, err = file.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	return path
}
