package bridgetest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// logHost is the storage that has the jobs' logs, on a host of its own. Whoever has a signed
// address gets the log; whoever shows a credential beside it is refused, as the real one does.
type logHost struct {
	server *http.Server
	url    string
	work   sync.WaitGroup

	mu       sync.Mutex
	signed   map[string]*Job // by signature
	requests []Request
	fault    http.HandlerFunc
}

func newLogHost() (*logHost, error) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil { // elsewhere than on Linux, 127.0.0.1 is the only loopback address
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	h := &logHost{url: "http://" + l.Addr().String(), signed: map[string]*Job{}}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	h.work.Go(func() { _ = h.server.Serve(l) })
	return h, nil
}

func (h *logHost) close() {
	_ = h.server.Close()
	h.work.Wait()
}

// address signs an address for a job's log. It is a secret for as long as it works.
func (h *logHost) address(j *Job) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	signature := randomText(40)
	h.signed[signature] = j
	return h.url + "/actions-results/" + number(j.check.id) + "/job.txt?rsct=text%2Fplain&se=2026-01-01T00%3A00%3A00Z&sig=" + signature
}

func (h *logHost) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(req.Body, maxRequest))
	h.mu.Lock()
	h.requests = append(h.requests, Request{
		Method: req.Method, Host: req.Host, Path: req.URL.EscapedPath(), Query: req.URL.RawQuery, Header: req.Header.Clone(), Body: string(body),
	})
	j, fault := h.signed[req.URL.Query().Get("sig")], h.fault
	h.mu.Unlock()
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>"+code+"</Code></Error>")
	}
	switch {
	case len(req.Header.Values("Authorization")) > 0:
		refuse(http.StatusForbidden, "AuthenticationFailed")
	case j == nil, !strings.Contains(req.URL.Path, "/"+number(j.check.id)+"/"):
		refuse(http.StatusForbidden, "AuthenticationFailed")
	case fault != nil:
		fault(w, req)
	default:
		log, kept := j.text()
		if kept != logThere {
			refuse(http.StatusNotFound, "BlobNotFound")
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader([]byte(log)))
	}
}

// text is the log as it is stored: with a byte order mark in front.
func (j *Job) text() (string, logState) {
	j.run.repo.gh.mu.Lock()
	defer j.run.repo.gh.mu.Unlock()
	return "\xEF\xBB\xBF" + j.log, j.kept
}

// BreakLogs has the host of the logs answer in another way from now on; nil ends that.
func (g *GitHub) BreakLogs(answer http.HandlerFunc) {
	g.logs.mu.Lock()
	defer g.logs.mu.Unlock()
	g.logs.fault = answer
}

// LogRequests are the requests that the host of the logs got.
func (g *GitHub) LogRequests() []Request {
	g.logs.mu.Lock()
	defer g.logs.mu.Unlock()
	return append([]Request(nil), g.logs.requests...)
}

// LogURL is the address of the host of the logs.
func (g *GitHub) LogURL() string { return g.logs.url }
