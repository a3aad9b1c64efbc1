package tmux

import (
	"fmt"
	"os"
	"strings"
)

// startTime is when a process began, in the kernel's clock ticks (proc(5), stat field 22), or
// empty where there is none. A zombie counts as none.
func startTime(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command in parentheses may hold blanks and parentheses.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
