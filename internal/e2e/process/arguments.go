package process

import (
	"os"
	"regexp"
	"sync"
)

// Arguments is a watch over the argument lists of the processes that begin after it. It looks all
// the time, which costs a processor; still, one that lives for less than a millisecond can escape.
type Arguments struct {
	pattern *regexp.Regexp
	before  map[string]bool // ids of processes that were there at the beginning, and still are
	end     chan struct{}
	ended   sync.WaitGroup
	seen    map[string]string
}

// WatchArguments begins a watch for what matches pattern. It needs the /proc of Linux, and sees
// nothing where there is none. Stop ends it.
func WatchArguments(pattern *regexp.Regexp) *Arguments {
	a := &Arguments{pattern: pattern, before: map[string]bool{}, end: make(chan struct{}), seen: map[string]string{}}
	for _, id := range processes() {
		a.before[id] = true
	}
	a.ended.Go(func() {
		for {
			select {
			case <-a.end:
				return
			default:
				a.look()
			}
		}
	})
	return a
}

// Stop ends the watch, and gives what matched with one argument list for each.
func (a *Arguments) Stop() map[string]string {
	close(a.end)
	a.ended.Wait()
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
		for _, match := range a.pattern.FindAllString(string(raw), -1) {
			a.seen[match] = string(raw)
		}
	}
	a.before = still // the id of one that has ended may be used again
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
