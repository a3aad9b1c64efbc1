package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// readyTimeout bounds one readiness check, so that a prober is answered.
const readyTimeout = 3 * time.Second

// healthz says that the ship serves, and nothing more.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

// readyz says what is broken.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	type part struct {
		Part  string `json:"part"`
		Error string `json:"error"`
	}
	state := struct {
		Ready  bool   `json:"ready"`
		Broken []part `json:"broken"`
	}{true, []part{}}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	check := func(name string, f func(context.Context) error) {
		if f == nil {
			return
		}
		if err := f(ctx); err != nil {
			state.Ready = false
			state.Broken = append(state.Broken, part{name, err.Error()})
		}
	}
	check("workspaces", s.config.Workspaces.Ready)
	check("storage", s.config.Ready)
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
