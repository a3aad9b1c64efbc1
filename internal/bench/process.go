package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// endTime is how long a process has between SIGTERM and SIGKILL.
	endTime = 12 * time.Second
	// startTime bounds the wait for a process's first sign of life.
	startTime = 30 * time.Second
	// tick is USER_HZ, the unit of the times in /proc/PID/stat, which is 100 on every Linux.
	tick = 10 * time.Millisecond
)

// program says how to start something.
type program struct {
	argv []string
	env  []string // all of it: nothing is inherited
	dir  string
}

func (p program) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Dir = p.env, p.dir
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	return cmd
}

// output runs p to its end and gives its standard output.
func (p program) output(ctx context.Context) ([]byte, error) {
	cmd := p.command(ctx)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %q: %w\n%s%s", filepath.Base(p.argv[0]), p.argv[1:], err, &out, &errs)
	}
	return out.Bytes(), nil
}

// daemon is a server that runs beside the benchmark.
type daemon struct {
	cmd   *exec.Cmd
	ended chan struct{}
	log   *tail
}

// serve starts p, which shows on its standard output or error that it is ready by a line that
// holds sign, and gives that line and the time until it came.
func (p program) serve(ctx context.Context, sign string) (*daemon, string, time.Duration, error) {
	d := &daemon{cmd: p.command(ctx), ended: make(chan struct{}), log: &tail{}}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", 0, err
	}
	d.cmd.Stdout, d.cmd.Stderr = w, w
	began := time.Now()
	err = d.cmd.Start()
	_ = w.Close()
	if err != nil {
		return nil, "", 0, errors.Join(err, r.Close())
	}
	ready := make(chan string, 1)
	go d.watch(r, sign, ready)
	select {
	case line := <-ready:
		return d, line, time.Since(began), nil
	case <-d.ended:
		err = errors.New("it ended")
	case <-time.After(startTime):
		err = fmt.Errorf("no sign of life within %s", startTime)
	}
	d.stop()
	return nil, "", 0, fmt.Errorf("start %s: %w\n%s", filepath.Base(p.argv[0]), err, d.log)
}

// watch reads what the process says until it ends, and reaps it.
func (d *daemon) watch(r io.ReadCloser, sign string, ready chan<- string) {
	defer close(d.ended)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		d.log.add(lines.Text())
		if strings.Contains(lines.Text(), sign) {
			select {
			case ready <- lines.Text():
			default:
			}
		}
	}
	_ = r.Close()
	_ = d.cmd.Wait()
}

// stop ends the process as an operator would, and waits until it is gone.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(endTime):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// tail keeps the last lines that a process said. It is for one goroutine until that one ended.
type tail struct{ lines []string }

func (t *tail) add(line string) {
	t.lines = append(t.lines[max(0, len(t.lines)-19):], line)
}

func (t *tail) String() string { return strings.Join(t.lines, "\n") }

// cpuTime is what a process, and the children that it has waited for, spent on processors.
func cpuTime(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPU(string(raw))
}

// parseCPU adds the fields utime, stime, cutime and cstime of proc(5).
func parseCPU(stat string) (time.Duration, error) {
	// The command in parentheses may hold blanks and parentheses. Behind it comes field 3.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0, fmt.Errorf("%q is not like proc(5)'s stat", stat)
	}
	var sum time.Duration
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// resident is the VmRSS of a process, in MiB.
func resident(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmRSS", pid)
}
