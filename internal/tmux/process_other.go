//go:build !linux

package tmux

import (
	"os/exec"
	"strconv"
	"strings"
)

// startTime is when a process began, as ps(1) prints it, or empty where there is none.
func startTime(pid int) string {
	out, err := exec.Command("/bin/ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), "_")
}
