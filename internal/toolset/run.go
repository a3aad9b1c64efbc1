package toolset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// waitDelay bounds what a descendant can cost that left the group and holds the pipes.
	waitDelay = 500 * time.Millisecond
	// maxCapture bounds what is read of a payload that is checked, and made concise, as a whole.
	maxCapture = 8 << 20
	maxStderr  = 8 << 10
)

// ran is a process that has ended by itself.
type ran struct {
	exit   int
	stdout []byte
	cut    bool // stdout is not all
	stderr []byte
}

// failure is a run that says nothing about its arguments. Its text may be shown to an agent.
type failure struct {
	text  string
	cause error // for the log
}

// run starts one process and waits for its end. What it started and left in its group is dead
// when run returns, whatever happened.
func (t *Toolset) run(ctx context.Context, dir string, argv []string) (ran, *failure) {
	limit := t.declared.MaxOutputBytes
	if t.declared.Envelope {
		limit = maxCapture
	}
	own, cancel := context.WithTimeout(ctx, time.Duration(t.declared.TimeoutSeconds)*time.Second)
	defer cancel()
	var ended atomic.Bool
	cmd := t.process(own, dir, argv, &ended)
	stdout, stderr := &capped{max: limit}, &capped{max: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return ran{}, &failure{text: "the command could not be started", cause: err}
	}
	err := wait(cmd, &ended)
	if cmd.ProcessState == nil {
		return ran{}, &failure{text: "the command could not be waited for", cause: err}
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && ctx.Err() != nil:
		return ran{}, &failure{text: givenUp(ctx)}
	case status.Signaled() && own.Err() != nil:
		return ran{}, &failure{text: fmt.Sprintf("it was killed after %d seconds", t.declared.TimeoutSeconds)}
	case status.Signaled():
		return ran{}, &failure{text: fmt.Sprintf("the command was ended by a signal: %v", status.Signal())}
	}
	return ran{exit: cmd.ProcessState.ExitCode(), stdout: stdout.kept, cut: stdout.over, stderr: stderr.kept}, nil
}

// process makes the process of argv, in a group of its own, which is killed as a whole when ctx
// ends.
func (t *Toolset) process(ctx context.Context, dir string, argv []string, ended *atomic.Bool) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, t.environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = waitDelay
	cmd.Cancel = func() error {
		if ended.Load() {
			return os.ErrProcessDone
		}
		return killGroup(cmd.Process.Pid)
	}
	return cmd
}

func givenUp(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "it took too long and was killed"
	}
	return "the request was given up, and the command killed"
}

// waitAndKill is for where an end cannot be seen without reaping: what holds the pipes costs
// waitDelay, and for a moment the group's number could be another's.
func waitAndKill(cmd *exec.Cmd, ended *atomic.Bool) error {
	err := cmd.Wait()
	ended.Store(true)
	_ = killGroup(cmd.Process.Pid)
	return err
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// capped keeps the start of what is written and takes all of it, so that the writer never waits.
// Its buffer is a plain field: an embedded bytes.Buffer would bring a ReadFrom of its own, which
// io.Copy prefers to Write.
type capped struct {
	max  int
	kept []byte
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.max - len(c.kept)
	if len(p) > room {
		c.over = true
	}
	c.kept = append(c.kept, p[:min(len(p), room)]...)
	return len(p), nil
}
