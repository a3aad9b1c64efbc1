// Package model stands in for the model behind a harness: the far end of the end-to-end tests.
// It serves on loopback the HTTP APIs that harnesses speak, and instead of thinking it follows a
// script of tool calls. It knows nothing of Fleet: what it was offered and what came back is all
// it reports.
package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Script is what the model "decides" to do in a conversation.
type Script struct {
	// Server is the key under which the MCP server is registered in the harness. Tools of other
	// servers and the harness's own tools are neither called nor reported.
	Server string
	// Calls are made one after the other, each after the result of the one before.
	Calls []Call
	// Text ends the turn after the last result; empty means "done".
	Text string
}

// Call is one tool call: the tool's name as its server gave it, without the harness's prefix,
// and its arguments as a JSON object; empty arguments mean {}.
type Call struct {
	Tool      string
	Arguments string
}

// Result is what the harness handed back for one call of the script. IsError is known of the
// Messages API and of generateContent: the two others have no such field.
type Result struct {
	Tool    string
	Text    string
	IsError bool
}

// Server is a running stand-in. It holds no conversation: each request carries the whole of one,
// so a harness that repeats a request gets the same answer, and several may run at once, though
// then their results are told apart by the step alone. Its methods are safe for concurrent use.
type Server struct {
	// URL is the root, without a path: ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL take it as it
	// is, OpenAI's base URL is URL + "/v1".
	URL string

	script Script
	done   chan struct{}
	finish func()

	mu       sync.Mutex
	offered  []string
	results  map[int]Result
	requests []string
	outside  []string
	problems []string
}

// Start serves script on a free port of 127.0.0.1 until the test ends.
func Start(t testing.TB, script Script) *Server {
	t.Helper()
	script.Calls = slices.Clone(script.Calls)
	for i, c := range script.Calls {
		if c.Arguments == "" {
			script.Calls[i].Arguments = "{}"
		} else if !json.Valid([]byte(c.Arguments)) {
			t.Fatalf("model: arguments of %s are not JSON: %s", c.Tool, c.Arguments)
		}
	}
	if script.Text == "" {
		script.Text = "done"
	}
	s := &Server{script: script, done: make(chan struct{}), results: map[int]Result{}}
	s.finish = sync.OnceFunc(func() { close(s.done) })

	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("POST /v1/responses", s.responses)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1beta/models/{call}", s.generate)
	mux.HandleFunc("/", s.unknown)
	h := httptest.NewServer(s.record(mux))
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Done is closed when the script has come to its end and the last text was sent.
func (s *Server) Done() <-chan struct{} { return s.done }

// Results gives what came back so far, in the order of the script.
func (s *Server) Results() []Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Result
	for i := range s.script.Calls {
		r, ok := s.results[i]
		if !ok {
			break
		}
		out = append(out, r)
	}
	return out
}

// Offered gives the sorted names of the tools of Script.Server that the harness last offered,
// without the harness's prefix.
func (s *Server) Offered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.offered)
}

// Requests gives method and path of every request, in order of arrival: the first thing to read
// when a harness did not do what it should.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Outside gives the hosts, beyond the stand-in itself, that a harness asked for whose HTTP_PROXY
// and HTTPS_PROXY name URL. None of them was reached.
func (s *Server) Outside() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.outside)
}

// Problems gives what kept the script from being followed, such as a tool that was not offered.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// tool is a tool as a harness offers it. Namespace is empty where the API has none and the
// prefix is part of the name.
type tool struct {
	namespace, name string
}

// bare is the tool's name without the prefix of server, and whether it is one of server's.
// Claude Code and Codex write mcp__SERVER__TOOL, Gemini mcp_SERVER_TOOL, opencode SERVER_TOOL and
// Copilot SERVER-TOOL; one with namespaces parts it after SERVER, and may replace what its API does
// not allow in names by an underscore.
func (t tool) bare(server string) (string, bool) {
	full := t.name
	if t.namespace != "" {
		full = strings.TrimSuffix(t.namespace, "__") + "__" + t.name
	}
	for _, s := range []string{server, strings.ReplaceAll(server, "-", "_")} {
		for _, prefix := range []string{"mcp__" + s + "__", "mcp_" + s + "_", s + "_", s + "-"} {
			if name, ok := strings.CutPrefix(full, prefix); ok {
				return name, true
			}
		}
	}
	return "", false
}

// reply is the model's side of one turn: a call, or a text when call is nil. Step is how far the
// script is, and sets the ids of one turn apart from another's: Claude Code merges messages of
// equal id.
type reply struct {
	step int
	call *placedCall
	text string
}

// placedCall is a call of the script as this harness wants it named.
type placedCall struct {
	tool
	id        string
	arguments string
}

// next decides on the answer to a conversation in which tools were offered and results came back
// for the script's calls. A conversation without tools is a side errand of the harness (a title,
// a summary) and gets a text.
func (s *Server) next(tools []tool, results map[int]Result) reply {
	if len(tools) == 0 {
		return reply{text: s.script.Text}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	byName := map[string]tool{}
	s.offered = s.offered[:0]
	for _, t := range tools {
		if name, ok := t.bare(s.script.Server); ok {
			byName[name] = t
			s.offered = append(s.offered, name)
		}
	}
	slices.Sort(s.offered)

	step := 0
	for ; step < len(s.script.Calls); step++ {
		r, ok := results[step]
		if !ok {
			break
		}
		r.Tool = s.script.Calls[step].Tool
		s.results[step] = r
	}
	if step == len(s.script.Calls) {
		return reply{step: step, text: s.script.Text}
	}
	c := s.script.Calls[step]
	t, ok := byName[c.Tool]
	if !ok {
		p := fmt.Sprintf("the tool %s of %s was not offered", c.Tool, s.script.Server)
		s.problems = append(s.problems, p)
		return reply{step: step, text: p}
	}
	return reply{step: step, call: &placedCall{tool: t, id: callID(step), arguments: c.Arguments}}
}

// sent notes that r has reached the harness.
func (s *Server) sent(r reply) {
	if r.call == nil && len(s.Results()) == len(s.script.Calls) {
		s.finish()
	}
}

const idPrefix = "call_step_"

// callID names a call by its step, so that the next request tells how far the script is.
func callID(step int) string { return idPrefix + strconv.Itoa(step) }

// stepOf is callID's inverse; false for a call that is none of the script's.
func stepOf(id string) (int, bool) {
	n, ok := strings.CutPrefix(id, idPrefix)
	if !ok {
		return 0, false
	}
	step, err := strconv.Atoi(n)
	return step, err == nil && step >= 0
}
