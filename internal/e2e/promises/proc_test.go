package promises_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func isLinux() bool { return runtime.GOOS == "linux" }

// needsProc skips where other processes cannot be looked at.
func needsProc(t *testing.T) {
	t.Helper()
	if !isLinux() {
		t.Skip("looks at processes in /proc, which only Linux has")
	}
}

// holders gives the processes whose environ or cmdline, as file says, holds text.
func holders(file, text string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, path := range paths {
		raw, err := os.ReadFile(path) // a process that has ended is none
		if err == nil && bytes.Contains(raw, []byte(text)) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, filepath.Dir(path)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// watch reads every argument list of the machine, over and over, until stop is called, which
// gives what matched.
type watch struct {
	end   chan struct{}
	ended sync.WaitGroup
	seen  map[string]string // what matched, and in which argument list
}

func watchArguments(pattern *regexp.Regexp) *watch {
	w := &watch{end: make(chan struct{}), seen: map[string]string{}}
	w.ended.Go(func() {
		for {
			select {
			case <-w.end:
				return
			default:
				w.look(pattern)
			}
		}
	})
	return w
}

func (w *watch) look(pattern *regexp.Regexp) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		raw, err := os.ReadFile("/proc/" + name + "/cmdline")
		if err != nil {
			continue
		}
		for _, match := range pattern.FindAllString(string(raw), -1) {
			w.seen[match] = string(raw)
		}
	}
}

func (w *watch) stop() map[string]string {
	close(w.end)
	w.ended.Wait()
	return w.seen
}
