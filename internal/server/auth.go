package server

import (
	"net/http"
	"strings"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/token"
)

// Why a request was turned away, as auth.refused says it.
const (
	reasonNoToken   = "no_token"
	reasonBadToken  = "bad_token"
	reasonElsewhere = "other_workspace" // a good token on a path that it does not open
)

// authenticated gives the workspace that the request's token opens, if the path names it too.
// Nothing else decides: whatever the path says, it can only fail to match.
func (s *Server) authenticated(w http.ResponseWriter, r *http.Request) (atlas.ID, bool) {
	tok, ok := bearer(r.Header["Authorization"])
	if !ok {
		s.unauthenticated(w, reasonNoToken)
		return atlas.ID{}, false
	}
	bound, ok := s.config.Tokens.Lookup(tok)
	if !ok || !s.config.Workspaces.Active(bound) {
		s.unauthenticated(w, reasonBadToken)
		return atlas.ID{}, false
	}
	if named, ok := workspaceOf(r); !ok || named != bound {
		s.forbidden(w, bound)
		return atlas.ID{}, false
	}
	return bound, true
}

// bearer reads the token. A malformed one comes back as the zero Token, which opens nothing.
func bearer(values []string) (token.Token, bool) {
	if len(values) != 1 {
		return token.Token{}, false
	}
	scheme, text, ok := strings.Cut(values[0], " ")
	// RFC 9110 §11.1: the scheme's case does not matter.
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return token.Token{}, false
	}
	tok, err := token.Parse(strings.TrimLeft(text, " "))
	if err != nil {
		return token.Token{}, true
	}
	return tok, true
}

// unauthenticated is one answer for every cause, so that a probe learns nothing.
func (s *Server) unauthenticated(w http.ResponseWriter, reason string) {
	s.refused(&s.refusals, api.Event{Reason: reason})
	// RFC 6750 §3: a 401 names the scheme. There is no resource_metadata: no OAuth here.
	w.Header()["Www-Authenticate"] = []string{"Bearer"}
	refuseHTTP(w, http.StatusUnauthorized, "a bearer token is required, and this is none that opens anything; "+
		"it is in FLEET_AGENT_MCP_TOKEN of an active workspace's session; "+
		"if it was rotated, start the harness anew in a new window of the session")
}

// forbidden is one answer whether the workspace that the path names exists or not.
func (s *Server) forbidden(w http.ResponseWriter, bound atlas.ID) {
	s.refused(&s.trespasses, api.Event{Reason: reasonElsewhere, Repo: bound.Repo, Workspace: bound.Name})
	refuseHTTP(w, http.StatusForbidden, "this token opens one workspace, and not this one")
}

func (s *Server) refused(t *throttle, e api.Event) {
	if !t.allow(time.Now()) {
		return
	}
	e.Type = api.AuthRefused
	if err := s.config.Events.Append(e); err != nil {
		s.config.Logger.Warn("a refusal cannot be logged as an event", "err", err)
	}
}
