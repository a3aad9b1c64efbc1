//go:build e2e

package longlife

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// Where the machine is too slow for all reports to reach tmux before the first of them is given up,
// they are made again.
const mostWaves = 5

// crest has the ship need as many threads at once as its sessions can make it need, and gives the
// number of calls that took.
func (f *fleet) crest(t *testing.T, harnesses []*harness) (calls int64) {
	t.Helper()
	tmux := f.tmuxPID(t)
	for range mostWaves {
		calls += int64(len(harnesses))
		if f.wave(t, tmux, harnesses) {
			return calls
		}
	}
	t.Fatalf("with tmux held under %d reports the ship has %v", len(harnesses), take(t, f.ship.PID()))
	return 0
}

// wave holds tmux while all sessions report, for each of which a thread waits for tmux. It says
// whether all of them did at the same moment.
func (f *fleet) wave(t *testing.T, tmux int, harnesses []*harness) (all bool) {
	t.Helper()
	if err := syscall.Kill(tmux, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Also where the test ends here: a tmux that is held would not end.
	defer func() { _ = syscall.Kill(tmux, syscall.SIGCONT) }()
	var open []*question
	for _, h := range harnesses {
		open = append(open, h.call("agent_status", `{"state":"planning","description":"all at once"}`))
	}
	shipyard.Poll(func() bool {
		all = take(t, f.ship.PID())["threads"] >= float64(len(harnesses))
		return all || slices.ContainsFunc(open, func(q *question) bool { return len(q.answer) > 0 })
	})
	if err := syscall.Kill(tmux, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for i, h := range harnesses {
		if a := h.wait(t, open[i]); a.failed || a.refused && !strings.HasPrefix(a.text, "unavailable:") {
			t.Errorf("agent_status = %s", a.raw)
		}
	}
	return all
}
