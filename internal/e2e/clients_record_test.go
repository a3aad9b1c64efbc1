//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// recorder stands between a harness and the ship and keeps what passes.
type recorder interface {
	// prefix is what the harness's command is started by.
	prefix() []string
	// talk gives what has passed once the harness has ended.
	talk(*testing.T) talk
}

// pipeRecorder is an agent-mcp that keeps each run's input and output in files.
type pipeRecorder struct {
	program string
	dir     string
}

func recordPipe(t *testing.T, f *fleet, name string) *pipeRecorder {
	t.Helper()
	r := &pipeRecorder{program: filepath.Join(f.bin, "recorded-"+name), dir: mkdir(t, f.dir, "recorded", name)}
	writeFile(t, r.program, 0o700, fmt.Sprintf("#!/bin/sh\ntee '%[1]s'/$$.in | '%[2]s' | tee '%[1]s'/$$.out\n",
		r.dir, shipyard.Built("agent-mcp")))
	return r
}

func (r *pipeRecorder) prefix() []string { return nil }

func (r *pipeRecorder) talk(t *testing.T) talk {
	t.Helper()
	inputs, err := filepath.Glob(filepath.Join(r.dir, "*.in"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%s was not started, or left nothing: %v", r.program, err)
	}
	var k talk
	for _, input := range inputs {
		answers := map[string][]byte{}
		for _, line := range linesOf(t, strings.TrimSuffix(input, ".in")+".out") {
			var a struct{ ID json.RawMessage }
			if err := json.Unmarshal(line, &a); err != nil {
				t.Fatalf("agent-mcp wrote %s: %v", line, err)
			}
			answers[string(a.ID)] = line
		}
		for _, line := range linesOf(t, input) {
			var q struct{ ID json.RawMessage }
			if err := json.Unmarshal(line, &q); err != nil {
				t.Fatalf("the harness wrote %s: %v", line, err)
			}
			k = append(k, exchange{body: line, answer: answers[string(q.ID)]})
		}
	}
	return k
}

func linesOf(t *testing.T, path string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// httpRecorder is a proxy before the ship, at a port of its own.
type httpRecorder struct {
	url string

	mu   sync.Mutex
	seen talk
}

// maxRecorded bounds what is kept of one message; the list of tools is some 20 KB.
const maxRecorded = 1 << 20

func recordHTTP(t *testing.T, f *fleet) *httpRecorder {
	t.Helper()
	_, text, _ := strings.Cut(f.daemon.Said(), "msg=ready url=")
	text, _, _ = strings.Cut(text, " ")
	ship, err := url.Parse(text)
	if err != nil || ship.Host == "" {
		t.Fatalf("the ship said no URL: %q, %v", text, err)
	}
	r := &httpRecorder{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(q *httputil.ProxyRequest) {
			q.SetURL(ship)
			q.Out.Host = q.In.Host
		},
		FlushInterval: -1,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.serve(w, q, proxy) }))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// prefix changes nothing of the session's URL but where it leads first.
func (r *httpRecorder) prefix() []string {
	return []string{
		"sh", "-c", `export ` + urlVariable + `="$0/${` + urlVariable + `#http://*/}"; exec "$@"`, r.url,
	}
}

// serve keeps an exchange once it is over.
func (r *httpRecorder) serve(w http.ResponseWriter, q *http.Request, proxy http.Handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxRecorded))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e := exchange{method: q.Method, path: q.URL.Path, header: q.Header.Clone(), body: body}
	q.Body = io.NopCloser(bytes.NewReader(body))
	proxy.ServeHTTP(answerKeeper{w, &e.answer}, q)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, e)
}

// answerKeeper keeps what is written to the client.
type answerKeeper struct {
	http.ResponseWriter
	answer *[]byte
}

func (k answerKeeper) Write(p []byte) (int, error) {
	*k.answer = append(*k.answer, p...)
	return k.ResponseWriter.Write(p)
}

// Unwrap lets the proxy flush.
func (k answerKeeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func (r *httpRecorder) talk(t *testing.T) talk {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) == 0 {
		t.Fatal("the harness sent nothing by HTTP")
	}
	return r.seen
}
