package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"fleet/api"
)

// identified gives every request an id of its own, and turns a fault of ours into a fixed answer.
func identified(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := newID()
		if err != nil {
			sendProblem(w, internal(err))
			return
		}
		w.Header().Set(api.HeaderRequestID, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer func() {
			if p := recover(); p != nil {
				log.Error("a request panicked", "request", id, "panic", MaskCredentials(fmt.Sprint(p)), "stack", string(debug.Stack()))
				sendProblem(w, internal(nil))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// sendProblem answers with err as RFC 9457 has it, without its cause.
func sendProblem(w http.ResponseWriter, err *api.Error) {
	problem := err.Problem()
	h := w.Header()
	if h.Get("Allow") != "" {
		problem.Status, problem.Title = http.StatusMethodNotAllowed, http.StatusText(http.StatusMethodNotAllowed)
	}
	if err.Code == api.Unauthenticated && err.Reason == reasonShip {
		h.Set("WWW-Authenticate", "Bearer") // RFC 6750 §3
	}
	if err.RetryAfterSeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(err.RetryAfterSeconds))
	}
	h.Set("Content-Type", api.ProblemType)
	h.Set("Cache-Control", "no-store")
	raw, _ := encode(problem) // it holds strings and numbers
	w.WriteHeader(problem.Status)
	_, _ = w.Write(raw)
}

// unused are the connections that have brought no request yet. net/http's graceful end waits five
// seconds for each, though nothing was done on it: a ship keeps some for later.
type unused struct {
	mu     sync.Mutex
	open   map[net.Conn]bool
	ending bool
}

// note is an http.Server's ConnState.
func (u *unused) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.open, c)
		return
	}
	u.open[c] = true
	if u.ending {
		_ = c.Close()
	}
}

// end closes them. Where a request has come just now, nobody has asked for its text, and the ship
// sends it to the next bridge.
func (u *unused) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ending = true
	for c := range u.open {
		_ = c.Close()
	}
}

// Serve answers h's requests on l until ctx ends, and gives those under way some seconds then. A
// client that is slow to ask, or to take its answer, is dropped. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	fresh := &unused{open: map[net.Conn]bool{}}
	server := &http.Server{
		Handler:           h,
		ConnState:         fresh.note,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      callTime + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(fresh.end)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the bridge: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-failed
	return err
}
