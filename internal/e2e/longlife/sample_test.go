//go:build e2e

package longlife

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample is what a process uses at one moment, by what it is. CPU is the seconds that it and the
// children that it waited for have spent until then.
type sample map[string]float64

// take reads /proc, the one window there is on a ship as it is shipped: it has no debugging port.
func take(t *testing.T, pid int) sample {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		t.Fatal(err)
	}
	s := sample{}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "VmRSS:":
			s["resident KiB"] = number(t, fields[1])
		case "Threads:":
			s["threads"] = number(t, fields[1])
		}
	}
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	s["files"] = float64(len(files))
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	// proc(5): the command in parentheses may hold blanks; utime is the 14th field.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, field := range fields[11:15] {
		s["CPU"] += number(t, field) / 100
	}
	return s
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// steady is the least that the samples have of one thing, on top of which is what was under way when
// one was taken. Of CPU it is the mean of the middle half of what was spent between them, which
// leaves out the moments in which the machine was busy elsewhere.
func steady(samples []sample, what string) float64 {
	var all []float64
	for i, s := range samples {
		switch {
		case what != "CPU":
			all = append(all, s[what])
		case i > 0:
			all = append(all, s[what]-samples[i-1][what])
		}
	}
	slices.Sort(all)
	if what != "CPU" {
		return all[0]
	}
	sum, middle := 0.0, all[len(all)/4:len(all)-len(all)/4]
	for _, spent := range middle {
		sum += spent
	}
	return sum / float64(len(middle))
}

// spread is how long calls took.
type spread struct{ p50, p99 time.Duration }

// pace has h make n calls, one after the other and within its workspace's share, each of which
// must succeed.
func (h *harness) pace(t *testing.T, n int) spread {
	t.Helper()
	took := make([]time.Duration, n)
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for i := range took {
		<-tick.C
		a := h.wait(t, h.call("agent_status_get", "{}"))
		if a.failed || a.refused {
			t.Fatalf("agent_status_get = %s", a.raw)
		}
		took[i] = a.took
	}
	return spreadOf(took)
}

func spreadOf(took []time.Duration) spread {
	slices.Sort(took)
	return spread{took[len(took)/2], took[len(took)*99/100]}
}

// ratios compares calls with and without trouble, in turns, and gives the middle ratio of each.
func ratios(t *testing.T, h *harness, rounds, calls int, trouble func() (stop func())) (p50, p99 float64) {
	t.Helper()
	h.pace(t, calls) // warm
	var mid, high []float64
	for range rounds {
		alone := h.pace(t, calls)
		stop := trouble()
		beside := h.pace(t, calls)
		stop()
		t.Logf("p50 %v alone, %v beside; p99 %v alone, %v beside", alone.p50, beside.p50, alone.p99, beside.p99)
		mid = append(mid, float64(beside.p50)/float64(alone.p50))
		high = append(high, float64(beside.p99)/float64(alone.p99))
	}
	slices.Sort(mid)
	slices.Sort(high)
	return mid[rounds/2], high[rounds/2]
}
