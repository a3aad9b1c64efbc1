package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxBody bounds one request. A harness's first one is some 200 KB of prompts and schemas.
const maxBody = 16 << 20

// record notes each request before it is served. One with a host in its request line was meant
// for that host and came here as to a proxy: it goes no further.
func (s *Server) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if host := r.URL.Host; host != "" {
			s.outside = append(s.outside, host)
		} else {
			s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		}
		s.mu.Unlock()
		if r.URL.Host != "" {
			http.Error(w, "the stand-in forwards nothing", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unknown answers what no script needs: a harness asks for models, settings or its maker's
// news, and goes on without.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		return
	}
	writeJSON(w, http.StatusNotFound, object{
		"type": "error", "error": object{"type": "not_found_error", "message": "no such path on the stand-in"},
	})
}

// object is a JSON object; maps encode with sorted keys, so answers are the same every time.
type object = map[string]any

// decode reads r's body into v, and on failure answers the request itself and notes the problem.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err == nil {
		return true
	}
	s.refuse(w, r, err.Error())
	return false
}

// refuse answers a request that the API itself would not take, and notes the problem.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why string) {
	s.mu.Lock()
	s.problems = append(s.problems, fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, why))
	s.mu.Unlock()
	writeJSON(w, http.StatusBadRequest, object{
		"type": "error", "error": object{"type": "invalid_request_error", "message": why},
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The status is out: a write that fails now is the harness's going away.
	_ = json.NewEncoder(w).Encode(v)
}

// writeEvents sends one server-sent event per item, named by its "type", as Messages and Responses do.
func writeEvents(w http.ResponseWriter, events []object) {
	streamed(w, func() {
		for _, e := range events {
			if data, err := json.Marshal(e); err == nil {
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
			}
		}
	})
}

// writeData sends one nameless server-sent event per item, as chat completions and generateContent
// do, and then each of end as it is.
func writeData(w http.ResponseWriter, events []object, end ...string) {
	streamed(w, func() {
		for _, e := range events {
			if data, err := json.Marshal(e); err == nil {
				fmt.Fprintf(w, "data: %s\n\n", data)
			}
		}
		for _, e := range end {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	})
}

// streamed sets the head of a stream, has it written, and sends it off. A write that fails is the
// harness's going away.
func streamed(w http.ResponseWriter, write func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	write()
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// content is the text of a value that the APIs give as a string or as a list of parts.
func content(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}
