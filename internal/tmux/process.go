package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is the server's, told apart from a later one with the same id by when it started.
type process struct {
	pid     int
	started string
}

func (p process) alive() bool {
	return p.pid > 1 && p.started != "" && startTime(p.pid) == p.started
}

// remember notes the server's process in memory and on disk.
func (s *Server) remember(pid string) error {
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		return fmt.Errorf("read tmux's process id: %w", err)
	}
	p := process{n, startTime(n)}
	if old := s.process.Swap(&p); old != nil && *old == p {
		return nil
	}
	return replace(s.pidFile, fmt.Sprintf("%d %s\n", p.pid, p.started))
}

func (s *Server) known() process {
	if p := s.process.Load(); p != nil {
		return *p
	}
	raw, err := os.ReadFile(s.pidFile)
	if err != nil {
		return process{}
	}
	pid, started, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return process{}
	}
	return process{n, started}
}

// run is client.run for a server that should be running: where its socket file was removed, it
// has the server make a new one and asks again, and where the server is dead too it says so.
func (s *Server) run(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := s.client.run(ctx, stdin, args...)
	if !Is(err, NoSocket) {
		return out, err
	}
	// A connection that failed has run nothing, so asking again is safe.
	if s.revive(ctx) {
		return s.client.run(ctx, stdin, args...)
	}
	if p := s.known(); p.pid > 1 && !p.alive() {
		return "", &Error{Kind: NoServer, err: errors.New("its process is gone")}
	}
	return "", err
}

// revive tells the server to make its socket anew, which is what SIGUSR1 is to tmux, and waits
// for it. To another process the signal is death, hence the look at its start time.
func (s *Server) revive(ctx context.Context) bool {
	p := s.known()
	if !p.alive() || syscall.Kill(p.pid, syscall.SIGUSR1) != nil {
		return false
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if _, err := os.Lstat(s.socket); err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// reap has the server look for processes that ended. tmux can lose the news of the last one (3.3a
// does, on a busy machine, with one in five): the pane then counts as dead, but neither how it
// ended is known, nor does a window go that should. Another SIGCHLD cures it, and does nothing to
// any other process.
func (s *Server) reap() {
	if p := s.known(); p.alive() {
		_ = syscall.Kill(p.pid, syscall.SIGCHLD)
	}
}
