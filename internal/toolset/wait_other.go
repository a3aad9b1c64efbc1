//go:build !linux

package toolset

import (
	"os/exec"
	"sync/atomic"
)

// wait waits for cmd, sets ended when it has ended, and kills what it left in its group.
func wait(cmd *exec.Cmd, ended *atomic.Bool) error { return waitAndKill(cmd, ended) }
