//go:build e2e

package longlife

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// A Go program asks the kernel for the time, so nothing can be put in between. Its standard library
// can: the programs are built with a package time whose wall clock is off by the seconds in a file,
// while its monotonic clock goes on, as when a machine's clock is set. The product has no such seam.
const clockFile = "LONGLIFE_CLOCK"

const shiftedTime = `package time

import "sync/atomic"

var shift atomic.Int64

func Shift(seconds int64) { shift.Store(seconds) }

func Now() Time {
	t := unshifted()
	if t.wall&hasMonotonic != 0 {
		t.wall += uint64(shift.Load()) << nsecShift
	}
	return t
}
`

const shiftingMain = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func init() {
	go func() {
		for {
			raw, _ := os.ReadFile(os.Getenv("` + clockFile + `"))
			seconds, _ := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
			time.Shift(seconds)
			time.Sleep(5 * time.Millisecond)
		}
	}()
}
`

// buildShifted builds both programs with such a clock into dir.
func buildShifted(t *testing.T, dir string) {
	t.Helper()
	goroot, err := goCommand("env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	module, err := goCommand("list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(goroot, "src", "time")
	original, err := os.ReadFile(filepath.Join(root, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(original, []byte("func Now() Time {")) != 1 {
		t.Fatal("the standard library's time.go has no func Now() Time any more")
	}
	err = buildOver(dir, map[string]string{
		filepath.Join(root, "time.go"):                              strings.Replace(string(original), "func Now() Time {", "func unshifted() Time {", 1),
		filepath.Join(root, "shift.go"):                             shiftedTime,
		filepath.Join(module, "cmd", "ship", "clock_shift.go"):      shiftingMain,
		filepath.Join(module, "cmd", "agent-mcp", "clock_shift.go"): shiftingMain,
	}, "fleet/cmd/ship", "fleet/cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
}

// TestAClockThatIsSetByAnHourIsInvisible sets it forward, back by two, and right again, under
// calls in flight.
func TestAClockThatIsSetByAnHourIsInvisible(t *testing.T) {
	clock := filepath.Join(t.TempDir(), "clock")
	f := newFleet(t, clockFile+"="+clock)
	bin := filepath.Join(f.dir, "bin")
	buildShifted(t, bin)
	f.agentMCP = filepath.Join(bin, "agent-mcp")
	f.command(t, "repo", "add", "r", filepath.Join(f.dir, "src", "r"))
	f.start(t, filepath.Join(bin, "ship"))
	f.populate(t, 3)
	var harnesses []*harness
	for i := range 3 {
		h := f.harnessIn(t, workspace(i), append(f.sessionEnv(t, workspace(i)), clockFile+"="+clock))
		h.register(t)
		harnesses = append(harnesses, h)
	}
	y, stop := &tally{}, make(chan struct{})
	work := busy(t, harnesses, y, stop)
	for _, hours := range []int{1, -1, 0} {
		if err := os.WriteFile(clock, fmt.Appendf(nil, "%d", hours*3600), 0o600); err != nil {
			t.Fatal(err)
		}
		want := time.Duration(hours) * time.Hour
		if !shipyard.Poll(func() bool { return (f.lastEvent(t) - want).Abs() < 20*time.Minute }) {
			t.Fatalf("the ship's clock is off by %v, want %v", f.lastEvent(t), want)
		}
		answered := y.count()
		if !shipyard.Poll(func() bool { return y.count() > answered+200 }) {
			t.Errorf("with the clock off by %v the calls stand still", want)
		}
		f.command(t, "token", "rotate", "r/w0")
		f.command(t, "deactivate", "r/w2")
		f.command(t, "activate", "r/w2", "--", "sleep", "100000")
		harnesses[2].register(t)
		f.ship.Stop(t)
		f.start(t, filepath.Join(bin, "ship"))
	}
	close(stop)
	work.Wait()
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, raw := range y.wrong {
		// Of the workspace that was inactive for a moment, and whose agent was new for another. Its
		// token opens nothing before its session has ended.
		if !strings.Contains(raw, "ship activate r/w2") && !strings.Contains(raw, "ship token rotate r/w2") && !strings.Contains(raw, "agent_init") && !strings.Contains(raw, `"null"`) {
			t.Errorf("a call was answered with %s", raw)
		}
	}
	t.Logf("%d calls, the longest took %v", y.calls, y.longest)
	f.checkEvents(t)
}

// lastEvent gives by how much the time of the newest event is ahead of the clock.
func (f *fleet) lastEvent(t *testing.T) time.Duration {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(atlas.StateDir(f.root), agent.CallsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(raw, []byte("\n"))
	var e api.Event
	if len(lines) < 2 || json.Unmarshal(lines[len(lines)-2], &e) != nil {
		return 0
	}
	return time.Until(e.Time)
}

// checkEvents reads all events as an operator does: none is missing, and no id stands twice.
func (f *fleet) checkEvents(t *testing.T) {
	t.Helper()
	types, ids := map[string]int{}, map[string]bool{}
	var all struct{ Events []api.Event }
	out := f.command(t, "events", "--json", "--since", "3h")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("ship events = %q: %v", out, err)
	}
	for _, e := range all.Events {
		if ids[e.ID] {
			t.Errorf("the event %s is there twice", e.ID)
		}
		ids[e.ID] = true
		types[e.Type]++
	}
	for kind, want := range map[string]int{api.TokenRotated: 3, api.WorkspaceDeactivated: 3, api.WorkspaceActivated: 6, api.WorkspaceAdopted: 9, api.ShipStarted: 4} {
		if types[kind] != want {
			t.Errorf("ship events shows %d of %s, want %d", types[kind], kind, want)
		}
	}
}
