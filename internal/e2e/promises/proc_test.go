package promises_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
