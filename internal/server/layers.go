package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
)

// requestID is the header in which a request carries the id that we gave it. It is set over
// whatever the client sent, so that the outer layers see it too.
const requestID = "X-Request-Id"

// newKey makes the id of a request or of a call.
func newKey() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// recovered is the outermost layer: a fault of ours costs one request and shows nothing of
// itself to the client.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			s.config.Logger.Error("a request panicked", "request", r.Header.Get(requestID), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			send(w, http.StatusInternalServerError, (&fault{code: codeInternal, text: "the ship met a fault of its own; its log has the cause"}).encode())
		}()
		next.ServeHTTP(w, r)
	})
}

// identified gives every request an id of its own, for the log and as a call's key.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, err := newKey()
		if err != nil {
			refuseHTTP(w, http.StatusServiceUnavailable, "no random numbers to be had")
			return
		}
		r.Header[requestID] = []string{key}
		next.ServeHTTP(w, r)
	})
}

// loopbackOnly keeps web pages out: a browser says in Origin who is asking, and in Host by which
// name it came, which after DNS rebinding is the attacker's.
//
// Specification 2026-07-28, basic/transports/streamable-http, "Security Warning".
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) || !loopbackOrigin(r.Header["Origin"]) {
			refuseHTTP(w, http.StatusForbidden, "only programs on this machine may ask, by its loopback name")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackHost takes a loopback name or address with any port, or nothing at all, as HTTP/1.0 has it.
func loopbackHost(host string) bool {
	if host == "" || host == "localhost" {
		return true
	}
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host {
		return false
	}
	name := strings.ToLower(u.Hostname())
	if strings.TrimSuffix(name, ".") == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// loopbackOrigin takes no Origin, or one of a loopback site.
func loopbackOrigin(values []string) bool {
	if len(values) == 0 {
		return true
	}
	scheme, host, ok := strings.Cut(values[0], "://")
	return len(values) == 1 && ok && host != "" && loopbackHost(host) &&
		(strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// leaving has each answer after the beginning of the ship's end say that its connection takes no
// further request.
func leaving(draining *atomic.Bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(leavingWriter{w, draining}, r)
	})
}

type leavingWriter struct {
	http.ResponseWriter
	draining *atomic.Bool
}

// WriteHeader is what every answer of ours begins with.
func (w leavingWriter) WriteHeader(status int) {
	if w.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w leavingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
