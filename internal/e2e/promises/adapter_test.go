package promises_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/talk"
)

// adapter is an agent-mcp as a harness starts it.
type adapter struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr *talk.Words
	next   int
}

// startAdapter starts agent-mcp in dir with exactly the environment env.
func startAdapter(t *testing.T, dir string, env []string) *adapter {
	t.Helper()
	a := &adapter{cmd: exec.Command(shipyard.Built("agent-mcp")), lines: make(chan string, 1000), stderr: &talk.Words{}, next: 1000}
	a.cmd.Dir, a.cmd.Env, a.cmd.Stderr = dir, env, a.stderr
	in, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.in = in
	go a.read(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = a.cmd.Process.Kill() // of no effect on one that has ended
		_, _ = a.cmd.Process.Wait()
	})
	return a
}

func (a *adapter) read(out io.Reader) {
	defer close(a.lines)
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			a.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// harness starts agent-mcp in a workspace as a harness in its session does that passes its whole
// environment on, and opens the conversation.
func (f *fleet) harness(t *testing.T, name string) *adapter {
	t.Helper()
	a := startAdapter(t, f.path(name), f.paneEnv(t, name))
	a.open(t)
	return a
}

// paneEnv is the environment of a process in a workspace's session.
func (f *fleet) paneEnv(t *testing.T, name string) []string {
	t.Helper()
	env := scrubbed(f)
	for key, value := range f.sessionEnv(t, name) {
		env = append(env, key+"="+value)
	}
	return env
}

// scrubbed is what some harnesses leave of an environment.
func scrubbed(f *fleet) []string { return []string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH")} }

func (a *adapter) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		t.Fatalf("write to agent-mcp: %v; it said: %s", err, a.stderr)
	}
}

// answer is the next line, which must be one message.
func (a *adapter) answer(t *testing.T) message {
	t.Helper()
	return parse(t, a.line(t))
}

func (a *adapter) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-a.lines:
		if !ok {
			t.Fatalf("agent-mcp ended instead of answering; it said: %s", a.stderr)
		}
		return line
	case <-time.After(2 * shipyard.Patience):
		t.Fatalf("agent-mcp gave no answer; it said: %s", a.stderr)
	}
	return ""
}

func (a *adapter) ask(t *testing.T, line string) message {
	t.Helper()
	a.send(t, line)
	return a.answer(t)
}

// open is the beginning of every conversation.
func (a *adapter) open(t *testing.T) message {
	t.Helper()
	m := a.ask(t, `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"promises","version":"1"}}}`)
	if m.Result == nil {
		t.Fatalf("initialize = %s", m.raw)
	}
	a.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

// call calls a tool under an id of its own.
func (a *adapter) call(t *testing.T, tool, arguments string) message {
	t.Helper()
	a.next++
	id := fmt.Sprint(a.next)
	m := a.ask(t, call(id, tool, arguments))
	if string(m.ID) != id {
		t.Fatalf("%s under id %s was answered with %s", tool, id, m.raw)
	}
	return m
}

// end closes the input and gives the exit status, and what was still written.
func (a *adapter) end(t *testing.T) (code int, rest []string) {
	t.Helper()
	_ = a.in.Close()
	for deadline := time.After(shipyard.Patience); ; {
		select {
		case line, ok := <-a.lines:
			if ok {
				rest = append(rest, line)
				continue
			}
		case <-deadline:
			t.Fatal("agent-mcp did not end at the end of its input")
		}
		break
	}
	state, err := a.cmd.Process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return state.ExitCode(), rest
}

// message is one JSON-RPC message as a client reads it.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Status int    `json:"status"`
			Body   string `json:"body"`
		} `json:"data"`
	} `json:"error"`

	raw string
}

func parse(t *testing.T, line string) message {
	t.Helper()
	m := message{raw: strings.TrimSuffix(line, "\n")}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || (m.Result == nil) == (m.Error == nil) {
		t.Fatalf("%q is no JSON-RPC answer: %v", line, err)
	}
	return m
}

// toolResult is the result of a tool call; other members fail the reading.
type toolResult struct {
	text    string
	isError bool
}

// tool reads a tool's result, which is one text item and nothing else.
func (m message) tool(t *testing.T) toolResult {
	t.Helper()
	var r struct {
		Content []struct{ Type, Text string } `json:"content"`
		IsError bool                          `json:"isError"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("%s is no result of one text item: %v", m.raw, err)
	}
	if strings.Contains(m.raw, "structuredContent") {
		t.Errorf("%s has structuredContent", m.raw)
	}
	return toolResult{r.Content[0].Text, r.IsError}
}

// ok is the text of a call that has to succeed.
func (m message) ok(t *testing.T) string {
	t.Helper()
	r := m.tool(t)
	if r.isError {
		t.Fatalf("the tool failed: %s", r.text)
	}
	return r.text
}

// register makes a an agent that reports description.
func (a *adapter) register(t *testing.T, description string) {
	t.Helper()
	a.call(t, "agent_init", `{"model":"m","provider":"p","harness":"h"}`).ok(t)
	quoted, err := json.Marshal(description)
	if err != nil {
		t.Fatal(err)
	}
	a.call(t, "agent_status", `{"state":"building","description":`+string(quoted)+`}`).ok(t)
}

// mkdir makes a folder below the fleet's.
func (f *fleet) mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{f.dir}, elem...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
