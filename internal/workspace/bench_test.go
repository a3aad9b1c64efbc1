package workspace_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/workspace"
)

// fill makes n checkouts, bare of history, and activates the first active of them.
func (f *fleet) fill(b *testing.B, n, active int) {
	b.Helper()
	for i := range n {
		w := f.stub(b, fmt.Sprintf("r/w%04d", i))
		if i < active {
			f.activate(b, w, workspace.ActivateOptions{Command: []string{"sleep", "3600"}})
		}
	}
}

// stub makes a checkout as far as it is read without git.
func (f *fleet) stub(b *testing.B, name string) atlas.ID {
	b.Helper()
	w := id(b, name)
	write(b, w.Dir(f.root)+"/.git/HEAD", "ref: refs/heads/main\n")
	write(b, w.Dir(f.root)+"/.git/refs/heads/main", "0123456789012345678901234567890123456789\n")
	return w
}

func BenchmarkActivate(b *testing.B) {
	for _, up := range []int{0, 50, 200} {
		b.Run(fmt.Sprintf("%d-sessions-up", up), func(b *testing.B) {
			f := newFleet(b)
			f.fill(b, up, up)
			w := f.stub(b, "r/new")
			for b.Loop() {
				f.activate(b, w, workspace.ActivateOptions{Command: []string{"sleep", "3600"}})
				b.StopTimer()
				if _, err := f.Deactivate(b.Context(), w); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprintf("%d-sessions", n), func(b *testing.B) {
			f := newFleet(b)
			f.fill(b, n, n)
			for i := range n {
				w := id(b, fmt.Sprintf("r/w%04d", i))
				if _, err := f.Agents().Init(b.Context(), w, "model", "provider", "harness"); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				f.open(b)
			}
			if f.tokens.Len() != n {
				b.Fatalf("%d of %d adopted", f.tokens.Len(), n)
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	f := newFleet(b)
	f.fill(b, 1000, 10)
	for b.Loop() {
		if list, err := f.List(b.Context()); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkMarkSeen(b *testing.B) {
	f := newFleet(b)
	f.fill(b, 1, 1)
	w := id(b, "r/w0000")
	for b.Loop() {
		f.MarkSeen(b.Context(), w)
	}
}

// BenchmarkIdle reports the processor time of all processes, tmux's included, that 60 idle
// sessions cost, as percent of one core. One round takes ten seconds.
func BenchmarkIdle(b *testing.B) {
	f := newFleet(b)
	f.fill(b, 60, 60)
	f.run(b)
	pid := f.byHand(b, "display-message", "-p", "#{pid}")
	for b.Loop() {
		time.Sleep(2 * time.Second) // the sessions' starts are not what is measured
		began, before := time.Now(), processorTime(b, pid)
		time.Sleep(8 * time.Second)
		b.ReportMetric(100*(processorTime(b, pid)-before).Seconds()/time.Since(began).Seconds(), "%core")
	}
}

func processorTime(b *testing.B, tmux string) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	raw, err := os.ReadFile("/proc/" + tmux + "/stat")
	if err != nil {
		b.Skip("no /proc on this system")
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	for _, f := range fields[11:13] {
		ticks, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(ticks) * 10 * time.Millisecond // USER_HZ
	}
	return sum
}
