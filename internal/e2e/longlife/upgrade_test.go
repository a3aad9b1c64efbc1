//go:build e2e

package longlife

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// tally counts how the calls of several harnesses ended.
type tally struct {
	mu             sync.Mutex
	calls, unclear int
	longest        time.Duration
	wrong          []string
}

// note counts one answer. A call may only fail by the error that says that it may have been done.
func (y *tally) note(a answer, want string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.calls++
	y.longest = max(y.longest, a.took)
	switch {
	case a.failed && strings.Contains(a.text, "may have been done"):
		y.unclear++
	case a.failed || a.refused || !strings.Contains(a.text, want):
		y.wrong = append(y.wrong, a.raw)
	}
}

// busy has each harness keep some calls in flight, reads and writes in turns, until stop.
func busy(t *testing.T, harnesses []*harness, y *tally, stop <-chan struct{}) *sync.WaitGroup {
	var work sync.WaitGroup
	for i, h := range harnesses {
		for lane := range 3 {
			work.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					said := fmt.Sprintf("%d %d %d", i, lane, n)
					if lane == 0 {
						y.note(h.wait(t, h.call("agent_status", `{"state":"building","description":"`+said+`"}`)), said)
					} else {
						y.note(h.wait(t, h.call("agent_status_get", `{}`)), `"state"`)
					}
				}
			})
		}
	}
	return &work
}

// TestAnUpgradeIsInvisibleToTwentyAgents ends the ship under them as an operator does, and starts
// another build of it at another path, again and again: not one call may show it.
func TestAnUpgradeIsInvisibleToTwentyAgents(t *testing.T) {
	f := serving(t, 20)
	y := upgrades(t, f, 10, func() { f.ship.Stop(t) })
	if y.unclear > 0 {
		t.Errorf("%d of %d calls were answered with the error that they may have been done, want none: the ship was ended gracefully", y.unclear, y.calls)
	}
}

// TestACrashShowsOnlyInCallsThatMayHaveBeenDone is the same by kill -9.
func TestACrashShowsOnlyInCallsThatMayHaveBeenDone(t *testing.T) {
	f := serving(t, 20)
	y := upgrades(t, f, 5, func() { f.ship.Kill(t) })
	// The next call may still be taken in by the system for the process that is dying.
	if most := 2 * 5 * 20 * 3; y.unclear > most {
		t.Errorf("%d calls were answered with the error that they may have been done, want %d at most", y.unclear, most)
	}
}

func upgrades(t *testing.T, f *fleet, times int, end func()) *tally {
	t.Helper()
	harnesses := f.harnesses(t, 20)
	y, stop := &tally{}, make(chan struct{})
	work := busy(t, harnesses, y, stop)
	for i := range times {
		age := []string{"new", "old"}[i%2]
		answered := y.count()
		shipyard.Poll(func() bool { return y.count() > answered+100 })
		end()
		f.start(t, shipyard.Built(age, "ship"))
		if got := f.version(t); got != "v0-"+age {
			t.Errorf("upgrade %d: ship status names the version %q, want v0-%s", i, got, age)
		}
	}
	close(stop)
	work.Wait()
	for _, raw := range y.wrong {
		t.Errorf("a call was answered with %s", raw)
	}
	t.Logf("%d upgrades under %d calls, of which %d may have been done; the longest took %v", times, y.calls, y.unclear, y.longest)
	return y
}

func (y *tally) count() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.calls
}
