package toolset

import (
	"errors"
	"os/exec"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// wait waits for cmd, sets ended when it has ended, and kills what it left in its group.
func wait(cmd *exec.Cmd, ended *atomic.Bool) error {
	pid := cmd.Process.Pid
	err := unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err, _ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil).(unix.Errno)
	}
	if err != 0 {
		return waitAndKill(cmd, ended)
	}
	// Until the child is reaped nobody else can have its number, nor its group's.
	ended.Store(true)
	_ = killGroup(pid)
	return cmd.Wait()
}
