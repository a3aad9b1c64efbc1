package promises_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// A registry that is empty after a start proves nothing: sessions are taken over as they are, none
// is ended, and none is made again for a workspace whose own has gone.
func TestAStartEndsNoSessionAndMakesNone(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one", "two")
	f.tmux(t, "new-session", "-d", "-s", "mine", "exec sleep 1000")
	f.tmux(t, "split-window", "-t", session(t, "two")+":", "exec sleep 1000")
	f.daemon.Kill(t)
	f.tmux(t, "kill-session", "-t", session(t, "one"))
	const format = "#{session_name} #{pane_pid} #{pane_current_command}"
	before := ""
	if !shipyard.Poll(func() bool { // a pane is tmux's until its command is executed
		before = f.tmux(t, "list-panes", "-a", "-F", format)
		return strings.Count(before, " sleep") == 3
	}) {
		t.Fatalf("the panes are\n%s\nwant three that run sleep", before)
	}
	for range 2 { // after a crash, then after an orderly end
		f.serve(t)
		f.becomes(t, "two", "active")
		f.unharmed(t, "two", tokens["two"])
		if w := f.look(t, "one"); w.Active || w.Agent != nil || f.opens(t, "one", tokens["one"]) {
			t.Errorf("r/one, whose session had ended, is %+v", w)
		}
		f.activate(t, "later")
		f.must(t, "deactivate", "r/later")
		f.must(t, "remove", "r/later")
		if after := f.tmux(t, "list-panes", "-a", "-F", format); after != before {
			t.Errorf("after a start the panes are\n%s\nand were\n%s", after, before)
		}
		f.daemon.Stop(t)
	}
}

func (f *fleet) hasSession(t *testing.T, name string) bool {
	t.Helper()
	return strings.Contains(f.tmux(t, "list-sessions", "-F", "=#{session_name}"), session(t, name))
}

// A socket whose name hangs on the environment makes a second server from cron or from a login,
// and every session seems dead.
func TestTheSessionsAreFoundWhateverTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one")
	pane := f.pane(t, "one")
	elsewhere := f.mkdir(t, "elsewhere")
	path := "PATH=" + os.Getenv("PATH")
	for name, env := range map[string][]string{
		"cron":  {path, "HOME=" + f.dir, "SHELL=/bin/sh"},
		"bare":  {path},
		"other": {path, "HOME=" + elsewhere, "TMPDIR=" + elsewhere, "TMUX_TMPDIR=" + elsewhere, "XDG_RUNTIME_DIR=" + elsewhere, "TMUX=" + elsewhere + "/x,1,0", "USER=other", "LANG=C"},
	} {
		f.daemon.Stop(t)
		f.serve(t, env...)
		f.unharmed(t, "one", tokens["one"])
		c := f.command(shipyard.Built("ship"), "--atlas", f.root, "logs", "r/one")
		c.Env = env
		if r := f.run(t, c); r.code != 0 {
			t.Errorf("%s: ship logs = %d: %s", name, r.code, r.stderr)
		}
		if now := f.pane(t, "one"); now != pane {
			t.Errorf("%s: the pane's process is %d, was %d", name, now, pane)
		}
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("something was made where the environment pointed: %v, %v", left, err)
	}
}

// tmux makes panes in its own working directory where theirs cannot be had, and in none at all
// once that is gone.
func TestAShipWhoseWorkingDirectoryIsGoneStartsSessionsInTheirWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.must(t, "repo", "list")
	here, gone := f.dir, f.mkdir(t, "gone")
	f.dir = gone
	f.serve(t)
	f.dir = here
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	f.activate(t, "one")
	if got := f.tmux(t, "display-message", "-p", "-t", session(t, "one")+":", "#{pane_current_path}"); got != f.path("one") {
		t.Errorf("the session stands in %q, want %q", got, f.path("one"))
	}
	if !isLinux() {
		return
	}
	server := f.tmux(t, "display-message", "-p", "#{pid}")
	if got, err := os.Readlink(filepath.Join("/proc", server, "cwd")); err != nil || got != "/" {
		t.Errorf("tmux's server stands in %q, %v, want /", got, err)
	}
}

func TestARenamedBranchOrphansNothing(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one")
	before := session(t, "one")
	f.shell(t, f.path("one"), "git branch -m fix/other-name")
	f.unharmed(t, "one", tokens["one"])
	if got := f.look(t, "one").Branch; got == nil || *got != "fix/other-name" {
		t.Errorf("ship ls shows the branch %v, want fix/other-name", got)
	}
	f.daemon.Kill(t)
	f.serve(t)
	f.unharmed(t, "one", tokens["one"])
	if !f.hasSession(t, "one") || session(t, "one") != before {
		t.Error("the session of r/one has another name")
	}
	f.shell(t, f.path("one"), "git switch -q --detach")
	w := f.look(t, "one")
	if head := strings.TrimSpace(f.shell(t, f.path("one"), "git rev-parse HEAD")); w.Branch != nil || w.Head == nil || *w.Head != head {
		t.Errorf("on a detached HEAD ship ls shows branch %v at %v, want none at %s", w.Branch, w.Head, head)
	}
}

// The root of a workspace is the directory two below the atlas, whatever git says of a file in it:
// in a submodule of a worktree, .git leads into the main checkout's .git/worktrees/…/modules.
func TestASubmoduleInAWorktreeBelongsToItsWorkspace(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/one")
	const git = "git -c protocol.file.allow=always "
	f.shell(t, f.path("one"), git+"submodule --quiet add "+f.origin+" sub && git commit -q -m sub && git worktree add -q -b tree ../tree && cd ../tree && "+git+"submodule --quiet update --init")
	f.must(t, "activate", "r/tree", "--", "sleep", "1000")
	sub := filepath.Join(f.path("tree"), "sub")
	if inside := f.shell(t, sub, "git rev-parse --git-dir"); !strings.Contains(inside, "/worktrees/tree/modules/sub") {
		t.Fatalf("the submodule's repository is %s: this test shows nothing", inside)
	}
	for what, env := range map[string][]string{"scrubbed": scrubbed(f), "the pane's": f.paneEnv(t, "tree")} {
		a := startAdapter(t, sub, env)
		a.open(t)
		a.register(t, what)
		if got := statusOf(t, a.call(t, "agent_status_get", "{}").ok(t)); got.Workspace != "tree" || got.Description != what {
			t.Errorf("%s environment: agent_status_get in the submodule = %+v, want r/tree", what, got)
		}
	}
	if w := f.look(t, "tree"); w.Branch == nil || *w.Branch != "tree" || len(f.workspaces(t)) != 2 {
		t.Errorf("ship ls shows %+v among %d workspaces, want the worktree's own branch and two workspaces", w, len(f.workspaces(t)))
	}
	f.shell(t, sub, "echo changed >README")
	f.must(t, "deactivate", "r/tree")
	f.refused(t, []string{"remove", "r/tree"}, "submodule")
	if got := f.shell(t, sub, "cat README"); got != "changed\n" {
		t.Errorf("the submodule's file is %q after a refused ship remove", got)
	}
}
