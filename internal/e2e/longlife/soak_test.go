//go:build e2e

package longlife

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

const (
	sessions   = 60
	callEvery  = 500 * time.Millisecond
	maxLog     = 8 << 20
	keptLogs   = 5
	oldEvent   = "0190b5a0-0000-7000-8000-000000000000"
	beforeFull = 512 << 10 // what is missing in the log of calls when the ship starts
)

// TestSixtySessionsLeaveNothingBehind runs for -minutes, and compares the second with the last fifth
// of that time. What leaks stays: it shows in the least of each fifth, as what is under way at a
// moment does not.
//
// Goroutines are asked for, since nothing that can be seen from without shows those that leaked:
// each is 2 KiB, and one that is stuck in the kernel takes a thread that was idle until then.
// Threads are a high-water mark: of those that a Go program once needed at the same time, none ever
// ends. Reached in the time that is compared, it would look like growth, so crest reaches it before.
func TestSixtySessionsLeaveNothingBehind(t *testing.T) {
	f := newFleet(t)
	f.command(t, "repo", "add", "r", filepath.Join(f.dir, "src", "r"))
	f.fillCalls(t)
	f.start(t, shipyard.Built("counting", "ship"))
	f.populate(t, sessions)
	harnesses := f.harnesses(t, sessions)
	var calls atomic.Int64
	calls.Add(int64(len(harnesses)))
	calls.Add(f.crest(t, harnesses))
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i, h := range harnesses {
		work.Go(func() {
			time.Sleep(callEvery * time.Duration(i) / sessions) // or all would call at the same moment
			calls.Add(h.live(t, i, stop))
		})
	}
	every := time.Duration(minutes(t) * float64(time.Minute) / 100)
	samples := f.samples(t, 100, every)
	second := samples[20:40]
	grown := growth(t, second, samples[80:])
	// What grows, grows on: of what the machine did at one time the next two fifths show nothing.
	for again := 0; again < 2 && len(grown) > 0; again++ {
		still := growth(t, second, f.samples(t, 20, every))
		maps.DeleteFunc(grown, func(what string, _ float64) bool { return still[what] == 0 })
	}
	close(stop)
	work.Wait()
	for what, factor := range grown {
		t.Errorf("%s grew by the factor %.2f, want %.2f at most", what, factor, bounds()[what])
	}
	for _, h := range harnesses {
		h.close(t)
	}
	f.ship.Stop(t)
	if logged := f.loggedCalls(t); logged != calls.Load() {
		t.Errorf("the logs hold %d calls, want the %d that were made", logged, calls.Load())
	}
}

// bounds are the factors by which the last fifth may exceed the second.
func bounds() map[string]float64 {
	return map[string]float64{"resident KiB": 1.25, "threads": 1.2, "goroutines": 1.2, "files": 1.2, "CPU": 1.3}
}

// growth is by which factor what grew that grew too much.
func growth(t *testing.T, second, last []sample) map[string]float64 {
	t.Helper()
	grown := map[string]float64{}
	for what, most := range bounds() {
		before, now := steady(second, what), steady(last, what)
		t.Logf("%s: %.3f in the second fifth, %.3f in the last, ratio %.2f", what, before, now, now/before)
		if now > most*before {
			grown[what] = now / before
		}
	}
	return grown
}

// samples takes n, one after each pause.
func (f *fleet) samples(t *testing.T, n int, pause time.Duration) (samples []sample) {
	t.Helper()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for range n {
		<-tick.C
		samples = append(samples, f.sample(t))
	}
	return samples
}

// live calls as an agent does that polls, and reports now and then. It gives the number of calls.
func (h *harness) live(t *testing.T, who int, stop <-chan struct{}) (calls int64) {
	tick := time.NewTicker(callEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return calls
		case <-tick.C:
		}
		tool, arguments := "agent_status_get", "{}"
		if (calls+int64(who))%4 == 0 {
			tool, arguments = "agent_status", fmt.Sprintf(`{"state":"building","description":"%d %d"}`, who, calls)
		}
		if a := h.wait(t, h.call(tool, arguments)); a.failed || a.refused {
			t.Errorf("%s = %s", tool, a.raw)
		}
		calls++
	}
}

// fillCalls makes a log of calls that is about to be rotated.
func (f *fleet) fillCalls(t *testing.T) {
	t.Helper()
	dir, err := atlas.MakeStateDir(f.root)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(api.Event{ID: oldEvent, Time: time.Now().UTC(), Type: api.ToolCalled, Repo: "r", Workspace: "old", Call: &api.Call{Stage: "mcp", Tool: "agent_status_get", Outcome: api.OutcomeOK}})
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	if err := os.WriteFile(filepath.Join(dir, agent.CallsFile), bytes.Repeat(line, (maxLog-beforeFull)/len(line)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// loggedCalls counts the calls of this test in the logs, each of which must be as it was promised.
func (f *fleet) loggedCalls(t *testing.T) (calls int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(atlas.StateDir(f.root), "*.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := bytes.Cut([]byte(filepath.Base(path)), []byte("."))
		counts[string(kind)]++
		t.Logf("%s has %d bytes", filepath.Base(path), len(raw))
		if len(raw) > maxLog {
			t.Errorf("%s has %d bytes, want %d at most", path, len(raw), maxLog)
		}
		for line := range bytes.Lines(raw) {
			var e api.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s holds %q: %v", path, line, err)
			}
			if e.Type == api.ToolCalled && e.ID != oldEvent {
				calls++
			}
		}
	}
	if counts["calls"] < 2 || counts["calls"] > keptLogs+1 || counts["events"] > keptLogs+1 {
		t.Errorf("there are %v files, want a log of calls that was rotated, and %d rotated ones at most", counts, keptLogs)
	}
	return calls
}
