//go:build e2e && linux

package faults

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"fleet/internal/e2e/talk"
)

// patience bounds every wait for something that nothing breaks any more.
const patience = 30 * time.Second

// words collects what a program says, from several goroutines.
type words struct {
	talk.Words
	who string
}

// daemon is ship or bridge. One fault at a time has its turn.
type daemon struct {
	world *world
	name  string
	args  []string
	env   []string

	turn    sync.Mutex
	command *exec.Cmd
	over    chan struct{} // closed once it has ended
	said    *words
}

// start runs the program until it serves; while a disk is full it may need several attempts.
func (d *daemon) start() error {
	for deadline := time.Now().Add(patience); ; {
		err := d.startOnce()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (d *daemon) startOnce() error {
	d.said = d.world.hear(d.name)
	c := exec.Command(program("ship"), d.args...)
	c.Dir, c.Env, c.Stderr, c.Stdout, c.WaitDelay = d.world.dir, d.env, d.said, d.said, patience
	if err := c.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	d.command, d.over = c, over
	go func() { _ = c.Wait(); close(over) }()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(d.said.String(), "msg=ready") {
			return nil
		}
		select {
		case <-over:
			return fmt.Errorf("%s ended before it served: %s", d.name, d.said)
		default:
		}
	}
	_ = c.Process.Kill()
	<-over
	return fmt.Errorf("%s did not serve within %v: %s", d.name, patience, d.said)
}

func (d *daemon) kill() {
	_ = d.command.Process.Kill()
	<-d.over
}

func (d *daemon) signal(s syscall.Signal) { _ = d.command.Process.Signal(s) }

// end stops the program as an operator does.
func (d *daemon) end() error {
	d.signal(syscall.SIGTERM)
	select {
	case <-d.over:
	case <-time.After(patience):
		d.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM", d.name, patience)
	}
	if code := d.command.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with %d after SIGTERM, want 0: %s", d.name, code, d.said)
	}
	return nil
}

// output runs a command to its end; what it says is kept for the search for secrets.
func (w *world) output(name string, args ...string) (string, error) {
	return w.run(w.hear(name+" "+strings.Join(args, " ")), name, args...)
}

// reveal is output of a command that is there to tell a secret.
func (w *world) reveal(name string, args ...string) (string, error) {
	return w.run(&words{}, name, args...)
}

func (w *world) run(said *words, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.Stderr, c.WaitDelay = w.dir, w.env, said, patience // a fork of ours, under way, holds the pipe too
	out, err := c.Output()
	_, _ = said.Write(out)
	if err != nil {
		err = fmt.Errorf("%q: %w: %s", c.Args, err, said)
	}
	return string(out), err
}

// operator runs a command of ship's.
func (w *world) operator(args ...string) (string, error) {
	return w.output(program("ship"), append([]string{"--atlas", w.atlas}, args...)...)
}

// insist repeats a command of ship's until it succeeds, through whatever is broken now.
func (w *world) insist(args ...string) (out string, err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if out, err = w.operator(args...); err == nil {
			return out, nil
		}
	}
	return out, err
}
