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

// take reads /proc, the one window there is: the ship has no debugging port. A goroutine that
// leaks shows in the memory, and one that is stuck in a system call in the threads.
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

// mean of what the samples say of one thing; of CPU, the mean of what was spent between them.
func mean(samples []sample, what string) float64 {
	if what == "CPU" {
		return (samples[len(samples)-1][what] - samples[0][what]) / float64(len(samples)-1)
	}
	sum := 0.0
	for _, s := range samples {
		sum += s[what]
	}
	return sum / float64(len(samples))
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
