//go:build e2e && linux

package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"fleet/internal/atlas"
)

// ask is one request, and what came of it.
type ask struct {
	run       *run
	id        string
	tool      string
	value     string // what it writes: a description, a model, or a comment's words
	sent      time.Time
	cancelled time.Time // zero: never
	late      bool      // a request made after the cancel was answered
	done      chan struct{}

	answered time.Time
	answers  []string
	outcome  outcome
	text     string // of the tool's result, or the error's message
}

// run is one agent-mcp from start to end, as a harness sees it.
type run struct {
	world     *world
	workspace int
	command   *exec.Cmd
	in        io.WriteCloser
	said      *words
	modern    bool
	over      chan struct{} // closed once everything it wrote is read
	killed    bool
	dying     sync.Once
	pen       sync.Mutex // what is written is in the account's order

	mu    sync.Mutex
	asks  map[string]*ask
	order []*ask
}

// startRun starts agent-mcp in a workspace, with the session's variables or without any.
func (w *world) startRun(workspace int, scrubbed, modern bool) (*run, error) {
	r := &run{world: w, workspace: workspace, modern: modern, asks: map[string]*ask{}, over: make(chan struct{})}
	r.command = exec.Command(program("agent-mcp"))
	r.command.Dir, r.command.Env = w.workspace(workspace), append([]string(nil), w.env...)
	if vars, err := w.session(workspace); err == nil && !scrubbed {
		for _, name := range []string{atlas.TokenVariable, atlas.URLVariable} {
			r.command.Env = append(r.command.Env, name+"="+vars[name])
		}
	}
	r.said = w.hear("agent-mcp")
	r.command.Stderr = r.said
	in, err := r.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	r.in = in
	go r.read(out, w.hear("agent-mcp, protocol"))
	return r, nil
}

func (r *run) read(out io.Reader, heard *words) {
	defer close(r.over)
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		_, _ = heard.Write([]byte(line))
		if line != "" && err == nil {
			r.take(line, time.Now())
		}
		if err != nil {
			if line != "" && !r.isKilled() {
				r.world.problem("agent-mcp wrote half a line: %q", line)
			}
			return
		}
	}
}

func (r *run) isKilled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.killed
}

// take enters one line into the account.
func (r *run) take(line string, at time.Time) {
	m, err := parse(line)
	if err != nil {
		r.world.problem("agent-mcp wrote %q: %v", line, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.asks[string(m.ID)]
	switch {
	case a == nil:
		r.world.problem("an answer to nothing that was asked: %s", line)
		return
	case a.late:
		r.world.problem("request %s (%s) was cancelled %v ago, a later one was answered since, and here is its answer: %s", a.id, a.tool, at.Sub(a.cancelled), line)
	case len(a.answers) > 0:
		r.world.problem("request %s (%s) was answered twice: %q and %q", a.id, a.tool, a.answers[0], line)
	}
	a.answers = append(a.answers, line)
	if len(a.answers) > 1 {
		return
	}
	a.answered = at
	a.outcome, a.text = m.outcome(a.tool)
	close(a.done)
	for _, other := range r.order {
		if !other.cancelled.IsZero() && len(other.answers) == 0 && other.cancelled.Before(a.sent) {
			other.late = true
		}
	}
}

// ask sends one request. The account has it before the adapter does.
func (r *run) ask(tool, arguments, value string) *ask {
	r.pen.Lock()
	defer r.pen.Unlock()
	a := r.enter(tool, value)
	method, params := "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)
	if strings.Contains(tool, "/") || tool == "initialize" {
		method, params = tool, arguments
	}
	if r.modern {
		params = strings.TrimPrefix(params+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`, ",")
	}
	r.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, a.id, method, params))
	return a
}

// enter takes a request down in the account.
func (r *run) enter(tool, value string) *ask {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &ask{run: r, id: fmt.Sprint(len(r.order)), tool: tool, value: value, sent: time.Now(), done: make(chan struct{})}
	if len(r.order)%3 == 1 {
		a.id = `"id-` + a.id + `"`
	}
	r.asks[a.id] = a
	r.order = append(r.order, a)
	return a
}

// write sends a line. An adapter that was killed doesn't read it, which its account says.
func (r *run) write(line string) { _, _ = io.WriteString(r.in, line+"\n") }

// cancel takes a request back, unless it was answered. In the same breath it sends a line that
// the adapter refuses by itself: once that is answered, the cancel has been read.
func (r *run) cancel(a *ask) {
	r.pen.Lock()
	defer r.pen.Unlock()
	r.mu.Lock()
	over := len(a.answers) > 0 || r.killed
	if !over {
		a.cancelled = time.Now()
	}
	r.mu.Unlock()
	if over {
		return
	}
	barrier := r.enter("no/method", "")
	r.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, a.id) + "\n" +
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, barrier.id))
}

// open begins the conversation, as often as it takes.
func (r *run) open() bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		method, params := "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"faults","version":"1"}`
		if r.modern {
			method, params = "server/discover", ""
		}
		a := r.ask(method, params, "")
		if !r.wait(a) {
			return false
		}
		if a.outcome == ok {
			if !r.modern {
				r.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}
			return true
		}
	}
	return false
}

// wait says whether the answer came. None comes of a killed adapter; after one that never came
// no other is waited for.
func (r *run) wait(a *ask) bool {
	select {
	case <-a.done:
		return true
	case <-r.over:
		select {
		case <-a.done:
			return true
		default:
			return false
		}
	case <-r.world.hung:
	case <-time.After(2 * patience):
		r.world.hang()
	}
	return false
}

// kill ends the adapter without warning; what it has not answered is lost.
func (r *run) kill() {
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	r.dying.Do(func() {
		_ = r.command.Process.Kill()
		<-r.over
		_ = r.command.Wait()
	})
}

// end closes the input, and holds the adapter to its end.
func (r *run) end() {
	_ = r.in.Close()
	select {
	case <-r.over:
	case <-time.After(patience):
		r.world.problem("agent-mcp did not end with its input; it said: %s", r.said)
		r.kill()
		return
	}
	if err := r.command.Wait(); err != nil && !r.killed {
		r.world.problem("agent-mcp ended with %v; it said: %s", err, r.said)
	}
}

// message is one JSON-RPC message as a client reads it.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func parse(line string) (message, error) {
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return m, err
	}
	if m.JSONRPC != "2.0" || (m.Result == nil) == (m.Error == nil) {
		return m, fmt.Errorf("it is no answer")
	}
	return m, nil
}
