package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// readyTimeout bounds one readiness check, so that a prober is answered.
	readyTimeout = 3 * time.Second
	// readyFor is how long a finding is given again: anybody may ask, and a check costs a process
	// and writes to the disk.
	readyFor = time.Second
)

// healthz says that the ship serves, and nothing more.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

// readyz says what is broken.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	state := s.readiness.get(r.Context(), s.checkReady)
	body, err := json.Marshal(state)
	if err != nil {
		plain(w, http.StatusInternalServerError, "internal error\n")
		return
	}
	status := http.StatusOK
	if !state.Ready {
		status = http.StatusServiceUnavailable
	}
	send(w, status, append(body, '\n'))
}

// finding is what a readiness check found, as /readyz shows it.
type finding struct {
	Ready  bool         `json:"ready"`
	Broken []brokenPart `json:"broken"`
}

type brokenPart struct {
	Part  string `json:"part"`
	Error string `json:"error"`
}

func (f *finding) note(part string, err error) {
	if err != nil {
		f.Ready = false
		f.Broken = append(f.Broken, brokenPart{part, err.Error()})
	}
}

// checkReady runs in a goroutine of its own, so a panic of it would end the ship.
func (s *Server) checkReady() (found finding) {
	defer func() {
		if p := recover(); p != nil {
			s.config.Logger.Error("a readiness check panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			found = finding{Broken: []brokenPart{{"ship", "the check met a fault of the ship's own; its log has the cause"}}}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	found = finding{true, []brokenPart{}}
	found.note("workspaces", s.config.Workspaces.Ready(ctx))
	for _, part := range slices.Sorted(maps.Keys(s.config.Ready)) {
		found.note(part, s.config.Ready[part](ctx))
	}
	s.noteToolsets(&found)
	return found
}

// readiness lets one check run at a time, for all who ask meanwhile and for readyFor after it.
// The zero readiness is ready for use.
type readiness struct {
	mu      sync.Mutex
	running chan struct{} // closed when the check that runs has ended; nil where none does
	last    finding
	ended   time.Time // of the check that found last
}

// get answers by readyTimeout, though a check that does not heed its context be still at work.
func (r *readiness) get(ctx context.Context, check func() finding) finding {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout+grace, errors.New("the readiness check hangs"))
	defer cancel()
	r.mu.Lock()
	if r.running == nil {
		if time.Since(r.ended) < readyFor {
			defer r.mu.Unlock()
			return r.last
		}
		r.running = make(chan struct{})
		go r.run(check, r.running)
	}
	running := r.running
	r.mu.Unlock()
	select {
	case <-running:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.last
	case <-ctx.Done():
		late := finding{Broken: []brokenPart{}}
		late.note("ship", context.Cause(ctx))
		return late
	}
}

func (r *readiness) run(check func() finding, running chan struct{}) {
	found := check()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.ended, r.running = found, time.Now(), nil
	close(running)
}
