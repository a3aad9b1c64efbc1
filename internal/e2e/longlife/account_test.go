//go:build e2e

package longlife

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/talk"
)

// harness is an agent-mcp with a client that keeps exact account of what it asked and was answered.
type harness struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *talk.Words
	gone chan struct{} // closed when its output has ended

	mu      sync.Mutex
	next    int
	open    map[int]*question
	strange []string // lines that answer nothing that was open
}

// question is a request that waits for its answer.
type question struct {
	answer chan answer
	asked  time.Time
}

// answer is what came for a request, and how long it took.
type answer struct {
	took time.Duration
	raw  string
	text string // of the tool's one item, or of the error
	// failed is an error of the protocol or the adapter; refused a tool's own.
	failed, refused bool
}

// harness starts agent-mcp in a workspace as a harness in its session does, and opens the
// conversation.
func (f *fleet) harness(t *testing.T, name string) *harness {
	t.Helper()
	return f.harnessIn(t, name, f.sessionEnv(t, name))
}

// harnesses starts one in each of the first workspaces, and registers it.
func (f *fleet) harnesses(t *testing.T, workspaces int) (all []*harness) {
	t.Helper()
	for i := range workspaces {
		h := f.harness(t, workspace(i))
		h.register(t)
		all = append(all, h)
	}
	return all
}

func (f *fleet) harnessIn(t *testing.T, name string, env []string) *harness {
	t.Helper()
	h := &harness{cmd: exec.Command(f.agentMCP), said: &talk.Words{}, gone: make(chan struct{}), open: map[int]*question{}}
	h.cmd.Dir, h.cmd.Env, h.cmd.Stderr = f.path(name), env, h.said
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.in = in
	go h.read(out)
	t.Cleanup(func() { h.close(t) })
	opened := h.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"longlife","version":"1"}}`)
	if a := h.wait(t, opened); a.failed {
		t.Fatalf("initialize = %s", a.raw)
	}
	return h
}

// close ends the adapter as a harness that leaves does. Afterwards nothing may be unanswered.
func (h *harness) close(t *testing.T) {
	_ = h.in.Close()
	late := time.AfterFunc(shipyard.Patience, func() { _ = h.cmd.Process.Kill() })
	<-h.gone
	_ = h.cmd.Wait()
	if !late.Stop() {
		t.Error("agent-mcp did not end at the end of its input")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) > 0 {
		t.Errorf("%d requests were never answered; agent-mcp said: %s", len(h.open), h.said)
	}
	for _, line := range h.strange {
		t.Errorf("%q answers no open request", line)
	}
}

// ask sends a request.
func (h *harness) ask(method, params string) *question {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	q := &question{answer: make(chan answer, 1), asked: time.Now()}
	h.open[h.next] = q
	// An adapter that is gone shows in close.
	_, _ = fmt.Fprintf(h.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", h.next, method, params)
	return q
}

// call sends a tool's call.
func (h *harness) call(tool, arguments string) *question {
	return h.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// wait gives a request's answer.
func (h *harness) wait(t *testing.T, q *question) answer {
	t.Helper()
	select {
	case a := <-q.answer:
		return a
	case <-h.gone:
		t.Fatalf("agent-mcp ended instead of answering; it said: %s", h.said)
	case <-time.After(2 * shipyard.Patience):
		t.Fatalf("agent-mcp gave no answer; it said: %s", h.said)
	}
	return answer{}
}

// good is the text of a call that has to succeed.
func (h *harness) good(t *testing.T, tool, arguments string) string {
	t.Helper()
	a := h.wait(t, h.call(tool, arguments))
	if a.failed || a.refused {
		t.Errorf("%s = %s", tool, a.raw)
	}
	return a.text
}

func (h *harness) read(out io.Reader) {
	defer close(h.gone)
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			h.take(strings.TrimSpace(line))
		}
		if err != nil {
			return
		}
	}
}

func (h *harness) take(line string) {
	var m struct {
		ID     *int
		Result *struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error *struct{ Message string }
	}
	err := json.Unmarshal([]byte(line), &m)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || m.ID == nil || h.open[*m.ID] == nil || (m.Result == nil) == (m.Error == nil) {
		h.strange = append(h.strange, line)
		return
	}
	q := h.open[*m.ID]
	delete(h.open, *m.ID)
	a := answer{took: time.Since(q.asked), raw: line}
	if m.Error != nil {
		a.failed, a.text = true, m.Error.Message
	} else if len(m.Result.Content) == 1 {
		a.text, a.refused = m.Result.Content[0].Text, m.Result.IsError
	}
	q.answer <- a
}

// register makes the harness's agent known.
func (h *harness) register(t *testing.T) {
	t.Helper()
	h.good(t, "agent_init", `{"model":"m","provider":"p","harness":"h"}`)
}
