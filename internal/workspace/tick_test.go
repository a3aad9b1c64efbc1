package workspace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/workspace"
)

func TestASessionEndedByHandLosesItsTokenSoon(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, other := f.checkout(t, "r/a"), f.checkout(t, "r/b")
	f.activate(t, w, workspace.ActivateOptions{})
	f.activate(t, other, workspace.ActivateOptions{})
	if _, err := f.Agents().Init(t.Context(), w, "m", "p", "h"); err != nil {
		t.Fatal(err)
	}
	tok := f.sessionToken(t, w)
	f.run(t)
	f.byHand(t, "kill-session", "-t", "="+w.SessionName())
	eventually(t, "the Manager notices", func() bool { return f.inactive.has(w) })
	got := f.get(t, w)
	if f.opens(tok, w) || got.Active || *got.InactiveReason != api.InactiveSessionEnded || got.Agent != nil {
		t.Errorf("afterwards: %+v, token valid: %t", got, f.opens(tok, w))
	}
	if got := f.events.of(w); got != "activated, agent.init, deactivated session_ended" {
		t.Errorf("events: %s", got)
	}
	if !f.Active(other) || f.inactive.has(other) {
		t.Error("the neighbour became inactive too")
	}
	if err := f.SaveAgent(t.Context(), w, "{}"); err != agent.ErrInactive {
		t.Errorf("SaveAgent in an inactive workspace: %v, want ErrInactive", err)
	}
	f.activate(t, w, workspace.ActivateOptions{})
}

func TestAKilledServerEndsAllSessionsAndTheNextActivationStartsOne(t *testing.T) {
	t.Parallel()
	for what, kill := range map[string]func(t *testing.T, f *fleet){
		"kill-server": func(t *testing.T, f *fleet) { f.byHand(t, "kill-server") },
		"kill -9 and the socket removed": func(t *testing.T, f *fleet) {
			pid := f.serverPID(t)
			syscall.Kill(pid, syscall.SIGKILL)
			os.Remove(f.socket())
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			w, other := f.checkout(t, "r/a"), f.checkout(t, "r/b")
			f.activate(t, w, workspace.ActivateOptions{})
			f.activate(t, other, workspace.ActivateOptions{})
			f.run(t)
			kill(t, f)
			eventually(t, "all sessions count as ended", func() bool { return f.inactive.has(w) && f.inactive.has(other) })
			if f.tokens.Len() != 0 {
				t.Error("a token outlived its session")
			}
			if err := f.Ready(t.Context()); err != nil {
				t.Errorf("Ready without a server that nobody needs: %v", err)
			}
			f.activate(t, w, workspace.ActivateOptions{})
			if !f.opens(f.sessionToken(t, w), w) || f.Active(other) {
				t.Error("the activation after the server's death is not like any other")
			}
		})
	}
}

func (f *fleet) serverPID(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(f.byHand(t, "display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestARemovedSocketEndsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	tok := f.sessionToken(t, w)
	f.run(t)
	if err := os.Remove(f.socket()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the socket is back", func() bool { _, err := os.Lstat(f.socket()); return err == nil })
	if !f.Active(w) || !f.opens(tok, w) || f.get(t, w).InactiveReason != nil {
		t.Errorf("afterwards: %+v", f.get(t, w))
	}
	os.Remove(f.socket())
	f.open(t) // a ship that starts just then
	if !f.Active(w) || !f.opens(tok, w) {
		t.Error("a ship that started without the socket lost the session")
	}
}

// TestATidiedFolderEndsNothing is for atlases with long paths, whose sockets lie under /tmp.
func TestATidiedFolderEndsNothing(t *testing.T) {
	t.Parallel()
	f := newFleetIn(t, strings.Repeat("long ", 20)+"é")
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	tok, folder := f.sessionToken(t, w), filepath.Dir(f.socket())
	if strings.HasPrefix(folder, f.root) {
		t.Fatalf("the sockets lie in %s, so this test shows nothing", folder)
	}
	pid := f.serverPID(t)
	t.Cleanup(func() {
		syscall.Kill(pid, syscall.SIGTERM) // its socket may be gone for good by then
		os.RemoveAll(folder)
	})
	f.run(t)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the socket is back", func() bool { _, err := os.Lstat(filepath.Join(folder, atlas.TmuxSocket)); return err == nil })
	if !f.Active(w) || !f.opens(tok, w) || f.inactive.has(w) {
		t.Errorf("afterwards: %+v", f.get(t, w))
	}
}

func TestATmuxThatDoesNotAnswerProvesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	tok := f.sessionToken(t, w)
	pid := f.serverPID(t)
	syscall.Kill(pid, syscall.SIGSTOP)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
	f.run(t)
	eventually(t, "the Manager tells that tmux is away", func() bool {
		got := f.get(t, w)
		return got.Active && got.InactiveReason != nil && *got.InactiveReason == api.InactiveTmuxAway
	})
	if !f.opens(tok, w) {
		t.Error("the token was revoked while the session may live")
	}
	syscall.Kill(pid, syscall.SIGCONT)
	eventually(t, "all is well again", func() bool { return f.get(t, w).InactiveReason == nil })
}

func TestWhatRunsInASessionIsSeen(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, dead, killed := f.checkout(t, "r/a"), f.checkout(t, "r/dead"), f.checkout(t, "r/killed")
	f.activate(t, w, workspace.ActivateOptions{Command: []string{"sleep", "60"}})
	f.activate(t, dead, workspace.ActivateOptions{Command: []string{"sh", "-c", "sleep 0.2; exit 3"}})
	f.activate(t, killed, workspace.ActivateOptions{Command: []string{"sh", "-c", "sleep 0.2; kill -9 $$"}})
	f.run(t)
	shows := func(w atlas.ID, command string) func() bool {
		return func() bool {
			o := f.get(t, w).Observed
			return o.PaneCommand != nil && *o.PaneCommand == command && o.PaneActivityAt != nil
		}
	}
	eventually(t, "the command is shown", shows(w, "sleep"))
	eventually(t, "a dead command is shown", shows(dead, "exited with status 3"))
	eventually(t, "a killed command is shown", shows(killed, "ended by signal 9"))
	if !f.Active(dead) {
		t.Error("a session whose command failed is gone, and its last words with it")
	}
}

// TestAKillServerInAPaneReachesNobody types the commands as an agent would, in the shell of a
// session of ours.
func TestAKillServerInAPaneReachesNobody(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, sibling := f.checkout(t, "r/a"), f.checkout(t, "r/b")
	f.activate(t, w, workspace.ActivateOptions{})
	f.activate(t, sibling, workspace.ActivateOptions{})
	f.run(t)
	// Something tidied /tmp; it must be there again before tmux looks for the operator's.
	private := atlas.TempSockets(f.root, w)
	if err := os.RemoveAll(private); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the private folder is back", func() bool { _, err := os.Lstat(private); return err == nil })
	out := filepath.Join(f.home, "out")
	f.byHand(t, "send-keys", "-t", "="+w.SessionName()+":", "tmux new-session -d; tmux kill-session; tmux kill-server; echo $TMUX_TMPDIR > "+out+".x; mv "+out+".x "+out, "Enter")
	if got := read(t, out); got != private+"\n" {
		t.Errorf("TMUX_TMPDIR is %q in the pane", got)
	}
	for _, v := range []atlas.ID{w, sibling} {
		if _, err := f.tmux("has-session", "-t", "="+v.SessionName()); err != nil || !f.Active(v) {
			t.Errorf("%s did not live through kill-server in a pane: %v", v, err)
		}
	}
}

// TestALookThatMissedANewSessionEndsNothing makes tmux so slow that a look begins before a session
// is there and ends after its activation did.
func TestALookThatMissedANewSessionEndsNothing(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	looked := filepath.Join(f.home, "looked")
	failing(t, f, `case "$*" in
*list-panes\ -a*) out=$(tmux "$@"); sleep 1.3; echo "$out"; echo x >> `+looked+`; exit;;
*source-file*) in=$(cat); case "$in" in *new-session*) sleep 1.2;; esac; printf '%s\n' "$in" | exec tmux "$@";;
esac`)
	f.run(t)
	f.activate(t, w, workspace.ActivateOptions{})
	activated, _ := os.ReadFile(looked)
	eventually(t, "two more looks end", func() bool {
		now, _ := os.ReadFile(looked)
		return len(now) >= len(activated)+4
	})
	if !f.Active(w) || f.inactive.has(w) {
		t.Error("a look at tmux from before the session ended it")
	}
}
