package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/e2e/process"
	"fleet/internal/workspace"
)

// lines reads what a stand-in for tmux noted, a line each time; none is there at first.
func lines(path string) []string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// TestALookIsOneCallOfTmuxForAnyNumberOfSessions: what is executed for each session, each second,
// is a storm with sixty of them. Nor is a client of control mode kept, which holds a terminal.
func TestALookIsOneCallOfTmuxForAnyNumberOfSessions(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	for i := range 12 {
		f.activate(t, f.checkout(t, fmt.Sprintf("r/w%d", i)), workspace.ActivateOptions{Command: []string{"sleep", "60"}})
	}
	calls := filepath.Join(f.home, "calls")
	failing(t, f, `printf '%s\n' "$*" | head -n 1 >>`+calls)
	adoption := len(lines(calls))
	f.run(t)
	eventually(t, "three looks at tmux", func() bool { return len(lines(calls)) >= adoption+3 })
	for _, call := range lines(calls)[adoption:] {
		if !strings.Contains(call, " list-panes -a -F ") {
			t.Errorf("a look at twelve sessions executes tmux %s", call)
		}
	}
	for _, call := range lines(calls) {
		for _, word := range strings.Fields(call) {
			if word == "-C" || word == "-CC" || strings.HasPrefix(word, "attach") {
				t.Errorf("a client of control mode was started: tmux %s", call)
			}
		}
	}
}

// TestASlowTmuxIsAskedOnceAtATime: looks that pile up behind a stall start all at once at its end,
// and make the next.
func TestASlowTmuxIsAskedOnceAtATime(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{Command: []string{"sleep", "60"}})
	looks := filepath.Join(f.home, "looks")
	failing(t, f, `case "$*" in *list-panes\ -a*) echo begin >>`+looks+`; sleep 1.7; out=$(tmux "$@"); echo end >>`+looks+`; printf '%s\n' "$out"; exit;; esac`)
	f.run(t)
	eventually(t, "a look is under way", func() bool { return len(lines(looks)) == 1 })
	if list, err := f.List(t.Context()); err != nil || len(list) != 1 || len(lines(looks)) != 1 {
		t.Errorf("List during a look = %v, %v, after %d lines; want the workspace without waiting", list, err, len(lines(looks)))
	}
	eventually(t, "three looks end", func() bool { return len(lines(looks)) >= 6 })
	for i, line := range lines(looks) {
		if want := []string{"begin", "end"}[i%2]; line != want {
			t.Fatalf("looks at a slow tmux overlap: %v", lines(looks))
		}
	}
	if !f.Active(w) {
		t.Error("a slow tmux ended a session")
	}
}
