package promises_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// operatorsTmux is a tmux server of the operator's own, with the session "mine".
type operatorsTmux struct{ dir string }

func startOperatorsTmux(t *testing.T, dir string) *operatorsTmux {
	t.Helper()
	o := &operatorsTmux{dir}
	if out, err := o.run("-f", os.DevNull, "new-session", "-d", "-s", "mine", "sleep 1000"); err != nil {
		t.Fatalf("start the operator's tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = o.run("kill-server") })
	return o
}

func (o *operatorsTmux) run(args ...string) (string, error) {
	c := exec.Command("tmux", args...)
	c.Env = []string{"TMUX_TMPDIR=" + o.dir, "PATH=" + os.Getenv("PATH"), "HOME=" + o.dir, "LANG=C.UTF-8"}
	out, err := c.CombinedOutput()
	return string(out), err
}

func (o *operatorsTmux) env(t *testing.T) []string {
	t.Helper()
	socket, err := o.run("display-message", "-p", "-t", "mine", "#{socket_path},#{pid},0")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"TMUX_TMPDIR=" + o.dir, "TMUX=" + strings.TrimSpace(socket), "TMUX_PANE=%0"}
}

// TestKillServerInOnePaneLeavesAllOthers starts the ship and its commands inside the operator's
// own tmux, as operators do.
func TestKillServerInOnePaneLeavesAllOthers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	operator := startOperatorsTmux(t, f.mkdir(t, "o"))
	f.env = append(f.env, operator.env(t)...)
	f.serve(t)
	f.activate(t, "sibling")
	const script = `env >env.txt; case "$TMUX_TMPDIR" in /tmp/fleet-*) ;; *) echo unsafe >done.txt; exec sleep 1000;; esac
		if test -n "$TMUX$TMUX_PANE"; then echo unsafe >done.txt; exec sleep 1000; fi
		for c in kill-server ls "kill-session -a" "kill-session -t mine" kill-session "kill-pane -a" kill-server; do tmux $c; done >out.txt 2>&1
		echo ran >done.new; mv done.new done.txt; exec sleep 1000`
	f.must(t, "create", "r/cmd")
	f.must(t, "activate", "r/cmd", "--", "sh", "-c", script)
	f.must(t, "create", "r/shell")
	f.must(t, "activate", "r/shell")
	f.shell(t, f.path("shell"), "cat >typed.sh <<'END'\n"+script+"\nEND")
	f.tmux(t, "send-keys", "-t", session(t, "shell")+":", "sh typed.sh", "Enter")
	for _, name := range []string{"cmd", "shell"} {
		var done []byte
		if !shipyard.Poll(func() bool {
			var err error
			done, err = os.ReadFile(filepath.Join(f.path(name), "done.txt"))
			return err == nil
		}) || string(done) != "ran\n" {
			t.Errorf("in r/%s tmux was not called, since it would have reached another's server: %q", name, done)
		}
		if said, _ := os.ReadFile(filepath.Join(f.path(name), "out.txt")); strings.Contains(string(said), "mine") || strings.Contains(string(said), "ws-") {
			t.Errorf("tmux ls in r/%s shows others' sessions: %s", name, said)
		}
	}
	if out, err := operator.run("has-session", "-t", "=mine"); err != nil {
		t.Errorf("the operator's own session is gone: %v: %s", err, out)
	}
	for _, name := range []string{"sibling", "cmd", "shell"} {
		if !f.opens(t, name, f.token(t, name)) || f.state(t, name) != "active" {
			t.Errorf("r/%s is %q, want active", name, f.state(t, name))
		}
	}
}

// An agent may have a tmux of its own.
func TestAnAgentsOwnTmuxIsItsOwn(t *testing.T) {
	t.Parallel()
	f := serving(t)
	const script = `tmux -f /dev/null new-session -d -s own 'sleep 1000'; sleep 0.1; tmux ls >ls.new 2>&1; mv ls.new ls.txt; read x <go; tmux kill-server; exec sleep 1000`
	for _, name := range []string{"one", "two"} {
		f.must(t, "create", "r/"+name)
		f.shell(t, f.path(name), "mkfifo go")
		f.must(t, "activate", "r/"+name, "--", "sh", "-c", script)
	}
	for _, name := range []string{"one", "two"} {
		var ls []byte
		shipyard.Poll(func() bool { ls, _ = os.ReadFile(filepath.Join(f.path(name), "ls.txt")); return len(ls) > 0 })
		if !strings.HasPrefix(string(ls), "own: 1 windows") || strings.Count(string(ls), "\n") != 1 {
			t.Errorf("tmux ls in r/%s = %q, want its own session alone", name, ls)
		}
	}
	for _, name := range []string{"one", "two"} {
		f.shell(t, f.path(name), "echo >go")
	}
	if f.state(t, "one") != "active" || f.state(t, "two") != "active" {
		t.Error("a workspace is not active after its agent's own tmux ended")
	}
}
