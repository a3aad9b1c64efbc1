package process

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// Arguments is a watch over the argument lists of the processes that begin after it. It looks all
// the time, which costs a processor; still, one that lives for less than a millisecond can escape.
type Arguments struct {
	pattern *regexp.Regexp
	control string          // an argument of a process of its own, which it has to see
	before  map[string]bool // ids of processes that were there at the beginning, and still are
	halt    func()

	mu   sync.Mutex
	seen map[string]string
}

// WatchArguments begins a watch for what matches pattern, which ends with Stop, or with the test. It
// needs the /proc of Linux, and fails the test where it can't see anything.
func WatchArguments(t testing.TB, pattern *regexp.Regexp) *Arguments {
	t.Helper()
	control := "watch-control-" + strconv.Itoa(os.Getpid())
	a := &Arguments{
		pattern: regexp.MustCompile(control + "|" + pattern.String()), control: control,
		before: map[string]bool{}, seen: map[string]string{},
	}
	for _, id := range processes() {
		a.before[id] = true
	}
	end := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				a.look()
			}
		}
	})
	a.halt = sync.OnceFunc(func() { close(end); ended.Wait() })
	t.Cleanup(a.halt)
	a.seeControl(t)
	return a
}

// seeControl has the control live until it was seen, however busy the machine is.
func (a *Arguments) seeControl(t testing.TB) {
	t.Helper()
	c := exec.Command("sh", "-c", "read -r x", a.control)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	saw := shipyard.Poll(func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.seen[a.control] != ""
	})
	_ = in.Close()
	_ = c.Wait()
	if !saw {
		t.Fatal("a watch over all argument lists sees nothing")
	}
}

// Stop ends the watch with a last look, and gives what matched with one argument list for each.
func (a *Arguments) Stop() map[string]string {
	a.halt()
	a.look()
	delete(a.seen, a.control)
	return a.seen
}

func (a *Arguments) look() {
	still := map[string]bool{}
	for _, id := range processes() {
		if a.before[id] {
			still[id] = true
			continue
		}
		raw, err := os.ReadFile("/proc/" + id + "/cmdline")
		if err != nil {
			continue // it has ended
		}
		a.note(string(raw))
	}
	a.before = still // the id of one that has ended may be used again
}

func (a *Arguments) note(arguments string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, match := range a.pattern.FindAllString(arguments, -1) {
		a.seen[match] = arguments
	}
}

func processes() []string {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var ids []string
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			ids = append(ids, name)
		}
	}
	return ids
}
