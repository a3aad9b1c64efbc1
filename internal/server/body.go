package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
)

// drainTimes bounds, as a multiple of the limit, what is read of a body that is too large: a
// sender that is still writing when the connection closes never comes to read the 413.
const drainTimes = 8

// readBody reads a body up to the limit, whatever Content-Length says.
//
// The specification has a client send application/json. A missing or another media type is 415:
// text/plain and no type at all are what a web page may send without asking first.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" || err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, "send Content-Type: application/json")
		return nil, false
	}
	limit := s.config.MaxBodyBytes
	if r.ContentLength <= limit {
		body, err := readUpTo(r, limit)
		if err != nil {
			s.brokenOff(w, err)
			return nil, false
		}
		if int64(len(body)) <= limit {
			return body, true
		}
	}
	_, _ = io.CopyN(io.Discard, r.Body, drainTimes*limit)
	refuseHTTP(w, http.StatusRequestEntityTooLarge, "the body is too large")
	return nil, false
}

// readUpTo reads limit+1 bytes at most, in one piece where the length is known.
func readUpTo(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(io.LimitReader(r.Body, limit+1))
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// brokenOff answers a body that did not come to its end: the other direction may still be open.
func (s *Server) brokenOff(w http.ResponseWriter, err error) {
	f := &fault{code: codeParse, text: "the body ended early"}
	status := http.StatusBadRequest
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f.text, status = "the body did not arrive in time", http.StatusRequestTimeout
	}
	w.Header().Set("Connection", "close")
	send(w, status, f.encode())
}
