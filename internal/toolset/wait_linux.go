package toolset

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// wait waits for cmd and kills what it left in its group.
func wait(cmd *exec.Cmd) error {
	pid := cmd.Process.Pid
	// Until the child is reaped nobody else can have its number, nor its group's.
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	_ = killGroup(pid)
	return cmd.Wait()
}
