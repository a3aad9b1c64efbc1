package server

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"fleet/internal/atlas"
)

func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.recovered, identified, loopbackOnly, byPath)
	r.Post("/workspaces/{repo}/{name}/mcp", s.mcp)
	r.Post("/healthz", reading(s.healthz))
	r.Post("/readyz", reading(s.readyz))
	r.NotFound(notFound)
	return r
}

// byPath makes chi route by the path alone. It would answer an unknown method itself, before it
// looks at the path, without a body and without Allow.
func byPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chi.RouteContext(r.Context()).RouteMethod = http.MethodPost
		next.ServeHTTP(w, r)
	})
}

// fleetCheck says that a person looks whether the way to the ship is open (agent-mcp --check):
// the request is answered as any other, but does not show as an MCP client that came.
const fleetCheck = "Fleet-Check"

// mcp is the endpoint of one workspace: the layers that need it, in their order.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	if !postOnly(w, r) {
		return
	}
	id, ok := s.authenticated(w, r)
	if !ok {
		return
	}
	s.limited(w, r, id, func() { s.admitted(w, r, id) })
}

// admitted answers a request that came with a good token and within its workspace's share.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request, id atlas.ID) {
	body, ok := s.readBody(w, r)
	if !ok || !begin(r.Context()) {
		return
	}
	if r.Header[fleetCheck] == nil {
		s.config.Workspaces.MarkSeen(r.Context(), id)
	}
	s.exchange(w, r, id, body)
}

func postOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodPost {
		return true
	}
	// RFC 9110 §15.5.6: a 405 names what is allowed.
	w.Header().Set("Allow", http.MethodPost)
	refuseHTTP(w, http.StatusMethodNotAllowed, "this endpoint takes POST only: it has no streams and no sessions")
	return false
}

// reading lets GET and HEAD through.
func reading(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			plain(w, http.StatusMethodNotAllowed, "method not allowed\n")
			return
		}
		next(w, r)
	}
}

// notFound is plain: clients that look for /.well-known/ documents of OAuth must not take the
// body for one.
func notFound(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusNotFound, "not found\n") }

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// workspaceOf reads the workspace that the path names. chi gives a parameter as it was escaped
// where RawPath is set, and unescaped otherwise; unescaping always would make A of a workspace
// that is called "%41".
func workspaceOf(r *http.Request) (atlas.ID, bool) {
	repo, name := chi.URLParam(r, "repo"), chi.URLParam(r, "name")
	if r.URL.RawPath != "" {
		var err1, err2 error
		repo, err1 = url.PathUnescape(repo)
		name, err2 = url.PathUnescape(name)
		if err1 != nil || err2 != nil {
			return atlas.ID{}, false
		}
	}
	id, err := atlas.NewID(repo, name)
	return id, err == nil
}
