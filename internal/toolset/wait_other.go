//go:build !linux

package toolset

import "os/exec"

// wait waits for cmd and kills what it left in its group. What holds the pipes costs waitDelay
// here, since the group is killed only once the child is reaped.
func wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = killGroup(cmd.Process.Pid)
	return err
}
