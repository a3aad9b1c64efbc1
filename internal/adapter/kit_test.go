package adapter_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/e2e/shipyard"
	"fleet/internal/token"
)

// patience is how long a test waits for what must come at once; the machine may be busy.
const patience = 15 * time.Second

// program is the agent-mcp that TestMain built, with the race detector if the test has it.
func program() string { return os.Getenv("ADAPTER_TEST_PROGRAM") }

// plainProgram never has it: the detector makes messages of many MiB very slow.
func plainProgram() string { return os.Getenv("ADAPTER_TEST_PLAIN_PROGRAM") }

// long is the length from which the kit does not look into a message.
const long = 1 << 20

func TestMain(m *testing.M) {
	if port := os.Getenv("ADAPTER_TEST_LISTEN"); port != "" {
		os.Exit(listenAsAnotherUser(port))
	}
	if slices.Contains(os.Args, "-test.fuzzworker") {
		os.Exit(m.Run()) // it starts no program
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "am")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	plain, watched := filepath.Join(dir, "agent-mcp"), filepath.Join(dir, "agent-mcp-race")
	builds := [][]string{{"-o", plain}}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		builds = append(builds, []string{"-race", "-o", watched})
	} else {
		watched = plain
	}
	for _, args := range builds {
		args = append([]string{"build", "-ldflags", "-X fleet/internal/build.linked=v1.2.3"}, append(args, "fleet/cmd/agent-mcp")...)
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
	}
	process.Overlap()
	os.Setenv("ADAPTER_TEST_PROGRAM", watched)
	os.Setenv("ADAPTER_TEST_PLAIN_PROGRAM", plain)
	return m.Run()
}

// workspace is a real one in an atlas of its own.
type workspace struct {
	root string
	id   atlas.ID
	env  []string
}

// newWorkspace makes the workspace r/w of an atlas whose ship listens on port, and the
// environment that the ship puts into its session.
func newWorkspace(t *testing.T, port int) *workspace {
	t.Helper()
	return newNamedWorkspace(t, port, atlas.ID{Repo: "r", Name: "w"})
}

func newNamedWorkspace(t *testing.T, port int, id atlas.ID) *workspace {
	t.Helper()
	root, err := os.MkdirTemp("", "at") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	w := &workspace{root: root, id: id}
	if err := os.MkdirAll(filepath.Join(w.dir(), ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.setPort(t, port)
	w.env = []string{
		"HOME=/nonexistent", "PATH=" + os.Getenv("PATH"),
		"FLEET_AGENT_MCP_TOKEN=" + token.Mint().Reveal(), "FLEET_AGENT_MCP_URL=" + w.url(port),
	}
	return w
}

func (w *workspace) dir() string { return w.id.Dir(w.root) }

func (w *workspace) url(port int) string {
	return "http://127.0.0.1:" + strconv.Itoa(port) + w.id.MCPPath()
}

func (w *workspace) setPort(t *testing.T, port int) {
	t.Helper()
	writeAtlas(t, w.root, port)
}

func writeAtlas(t *testing.T, dir string, port int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "atlas.json"), fmt.Appendf(nil, `{"fleet":1,"port":%d,"repos":{}}`, port), 0o600); err != nil {
		t.Fatal(err)
	}
}

// token is the one in the environment.
func (w *workspace) token() string {
	for _, kv := range w.env {
		if v, ok := strings.CutPrefix(kv, "FLEET_AGENT_MCP_TOKEN="); ok {
			return v
		}
	}
	return ""
}

// without is the environment lacking some variables.
func (w *workspace) without(names ...string) []string {
	var env []string
	for _, kv := range w.env {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			env = append(env, kv)
		}
	}
	return env
}

// harness is a running agent-mcp and the two ends of its pipes.
type harness struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr *bytes.Buffer // to be read after end only
	ended  chan struct{}
	err    error
	secret string
}

// start runs agent-mcp in the workspace as its session would.
func (w *workspace) start(t *testing.T) *harness {
	t.Helper()
	return startProgram(t, program(), w.dir(), w.env)
}

// startPlain does so for messages of many MiB.
func (w *workspace) startPlain(t *testing.T) *harness {
	t.Helper()
	return startProgram(t, plainProgram(), w.dir(), w.env)
}

// start runs agent-mcp in dir with exactly this environment.
func start(t *testing.T, dir string, env []string) *harness {
	t.Helper()
	return startProgram(t, program(), dir, env)
}

// startProgram starts a harness's server. However the test goes, the process ends with it; every
// line on standard output is held to be a JSON-RPC message, and neither output to hold the token.
func startProgram(t *testing.T, program, dir string, env []string) *harness {
	t.Helper()
	h := &harness{t: t, cmd: exec.Command(program), lines: make(chan string, 4096), stderr: &bytes.Buffer{}, ended: make(chan struct{})}
	h.cmd.Dir, h.cmd.Env, h.cmd.Stderr = dir, append(env[:len(env):len(env)], shipyard.QuickEnd), h.stderr
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "FLEET_AGENT_MCP_TOKEN="); ok {
			h.secret = v
		}
	}
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.cmd.Stdout = w
	err = h.cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	go h.read(out)
	t.Cleanup(func() { h.kill() })
	return h
}

func (h *harness) read(out *os.File) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			h.lines <- line
		}
		if err != nil {
			break
		}
	}
	close(h.lines)
	out.Close()
	h.err = h.cmd.Wait()
	close(h.ended)
}

func (h *harness) kill() {
	h.in.Close()
	_ = h.cmd.Process.Kill()
	<-h.ended
	if h.secret != "" && strings.Contains(h.stderr.String(), h.secret) {
		h.t.Error("standard error holds the token")
	}
}

// send writes text as it stands; sendLine adds a newline.
func (h *harness) send(text string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, text); err != nil {
		h.t.Fatalf("write to agent-mcp: %v", err)
	}
}

func (h *harness) sendLine(lines ...string) {
	h.t.Helper()
	h.send(strings.Join(lines, "\n") + "\n")
}

// line gives the next line of standard output without its newline.
func (h *harness) line() string {
	h.t.Helper()
	select {
	case line, ok := <-h.lines:
		if !ok {
			<-h.ended
			h.t.Fatalf("agent-mcp ended (%v) where a line was due; it said %q", h.err, h.stderr)
		}
		text, ok := strings.CutSuffix(line, "\n")
		if !ok || len(text) < long && !json.Valid([]byte(text)) || text[0] != '{' && text[0] != '[' || strings.ContainsAny(text, "\r\n") {
			h.t.Fatalf("standard output holds a line that is no JSON-RPC message: %.200q", line)
		}
		if h.secret != "" && strings.Contains(text, h.secret) {
			h.t.Fatal("standard output holds the token")
		}
		return text
	case <-time.After(patience):
		h.t.Fatalf("no line on standard output within %v", patience)
		return ""
	}
}

// want sends lines and holds the next lines of output to be exactly these.
func (h *harness) want(lines ...string) {
	h.t.Helper()
	for _, want := range lines {
		if got := h.line(); got != want {
			h.t.Fatalf("got %.300s\nwant %.300s", got, want)
		}
	}
}

// fault is a JSON-RPC error as it arrived.
type fault struct {
	ID    json.RawMessage `json:"id"`
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    *struct {
			Status     int    `json:"status"`
			Body       string `json:"body"`
			RetryAfter int    `json:"retry_after_seconds"`
		} `json:"data"`
	} `json:"error"`
}

// fault holds the next line to be an error for id that says text, and gives it.
func (h *harness) fault(id string, code int, text string) fault {
	h.t.Helper()
	line := h.line()
	var f fault
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		h.t.Fatal(err)
	}
	if string(f.ID) != id || f.Error.Code != code || !strings.Contains(f.Error.Message, text) {
		h.t.Fatalf("got %.600s\nwant an error %d under id %s that says %q", line, code, id, text)
	}
	return f
}

// alive shows that nothing more was written, and that the next call works.
func (h *harness) alive() {
	h.t.Helper()
	h.sendLine(call(`"alive"`))
	h.want(answered(`"alive"`))
}

// end closes the input, holds agent-mcp to end with status 0 and without another line, and
// gives its standard error.
func (h *harness) end() string {
	h.t.Helper()
	h.in.Close()
	select {
	case line, ok := <-h.lines:
		if ok {
			h.t.Fatalf("a line that nobody asked for: %.300s", line)
		}
	case <-time.After(patience):
		h.t.Fatal("agent-mcp did not end with its input")
	}
	<-h.ended
	if h.err != nil {
		h.t.Fatalf("agent-mcp ended with %v; it said %q", h.err, h.stderr)
	}
	return h.stderr.String()
}

// call is a tools/call, and initialize and notify what their names say.
func call(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t","arguments":{}}}`
}

func initialize(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
}

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

// eventually waits for a condition that must come true by itself.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}
