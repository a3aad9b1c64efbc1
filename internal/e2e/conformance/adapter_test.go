//go:build e2e

package conformance_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// modern is the revision without a handshake; each of its requests names it.
const modern = "2026-07-28"

// TestEveryRevisionIsSpokenThroughTheAdapter holds both programs together to what the suite does
// not see: it knows no standard input.
func TestEveryRevisionIsSpokenThroughTheAdapter(t *testing.T) {
	f, at := startShip(t)
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			a := f.startAdapter(t, at.token)
			if revision != modern {
				params := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`, revision)
				a.expect(t, "0", saidIn(revision, "0", "initialize", params), fmt.Sprintf(`"protocolVersion":%q`, revision))
			}
			a.tryTools(t, revision)
			a.tryFaults(t, revision)
			// The era is chosen for each request, whatever was spoken before.
			for _, other := range []string{modern, revision, modern} {
				a.expect(t, "5", saidIn(other, "5", "tools/call", `{"name":"agent_status_get"}`), `"text":"null"`)
			}
			if revision == "2025-03-26" {
				a.tryBatch(t)
			}
			a.end(t)
		})
	}
}

// tryTools lists and calls under ids that a decoder would change.
func (a *adapter) tryTools(t *testing.T, revision string) {
	t.Helper()
	for _, id := range []string{`9007199254740993`, `1.0`, `"7"`, `7`} {
		list := a.expect(t, id, saidIn(revision, id, "tools/list", `{}`), `"agent_status_get"`)
		if strings.Contains(list, `"resultType":"complete"`) != (revision == modern) {
			t.Errorf("a list of another era: %.200s", list)
		}
		a.expect(t, id, saidIn(revision, id, "tools/call", `{"name":"agent_status_get"}`), `"text":"null"`)
	}
}

// tryFaults sends what is refused, and notifications, which are never answered: the line that
// comes next belongs to the next request.
func (a *adapter) tryFaults(t *testing.T, revision string) {
	t.Helper()
	a.expect(t, "1", saidIn(revision, "1", "nothing/here", `{}`), `"code":-32601`)
	// The adapter sends this name in Base64, and the ship must read it before it compares.
	a.expect(t, "2", saidIn(revision, "2", "tools/call", `{"name":"é\n"}`), `"code":-32602`)
	a.expect(t, "3", saidIn(revision, "3", "tools/call", `{"name":"repo_info","arguments":{"repo":"x"}}`), `"isError":true`)
	for _, method := range []string{"notifications/initialized", "notifications/cancelled", "nothing/here"} {
		a.send(t, strings.Replace(saidIn(revision, "4", method, `{"requestId":3}`), `"id":4,`, "", 1))
	}
	refused := a.expect(t, "4", strings.ReplaceAll(saidIn(modern, "4", "tools/list", `{}`), modern, "1900-01-01"), `"code":-32022`)
	var answer struct {
		Error struct{ Data struct{ Supported []string } }
	}
	if err := json.Unmarshal([]byte(refused), &answer); err != nil || !slices.Contains(answer.Error.Data.Supported, revision) {
		t.Errorf("%s, want the supported revisions in it", refused)
	}
}

// tryBatch sends the batch that only 2025-03-26 has; its answers come back, all of them, once.
func (a *adapter) tryBatch(t *testing.T) {
	t.Helper()
	const one = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
	a.send(t, "["+fmt.Sprintf(one, "1")+`,{"jsonrpc":"2.0","method":"notifications/initialized"},`+fmt.Sprintf(one, `"1"`)+"]")
	line := a.line(t)
	var answers []struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(line), &answers); err != nil || len(answers) != 2 || string(answers[0].ID) != "1" || string(answers[1].ID) != `"1"` {
		t.Errorf("a batch was answered with %s", line)
	}
}

// saidIn is a request in the form that a revision gives it.
func saidIn(revision, id, method, params string) string {
	if revision == modern {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":{}}`
		if params = strings.TrimSuffix(params, "}"); params != "{" {
			params += ","
		}
		params += meta + "}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

// adapter is a running agent-mcp.
type adapter struct {
	in    io.WriteCloser
	lines chan string
	ended chan error
}

func (f fleet) startAdapter(t *testing.T, token string) *adapter {
	t.Helper()
	c := exec.Command(shipyard.Built("agent-mcp"))
	c.Dir, c.Env = filepath.Join(f.dir, "a", "r", "w"), append(slices.Clone(f.env), "FLEET_AGENT_MCP_TOKEN="+token)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	a := &adapter{in: in, lines: make(chan string, 100), ended: make(chan error, 1)}
	go func() {
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			a.lines <- line
		}
		close(a.lines)
		a.ended <- c.Wait()
	}()
	t.Cleanup(func() { _ = c.Process.Kill() })
	return a
}

func (a *adapter) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// line is the next that the adapter wrote.
func (a *adapter) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-a.lines:
		if !ok {
			t.Fatal("agent-mcp ended")
		}
		return line
	case <-time.After(30 * time.Second):
		t.Fatal("agent-mcp does not answer")
	}
	return ""
}

// expect sends one request and wants its answer as the next line: under its id, byte for byte,
// and with text in it.
func (a *adapter) expect(t *testing.T, id, request, text string) string {
	t.Helper()
	a.send(t, request)
	line := a.line(t)
	var answer struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(line), &answer); err != nil || string(answer.ID) != id || !strings.Contains(line, text) {
		t.Errorf("%s\nwas answered with %.300s\nwant the id %s and %s", request, line, id, text)
	}
	return line
}

// end closes the adapter's standard input, after which it has nothing more to say.
func (a *adapter) end(t *testing.T) {
	t.Helper()
	if err := a.in.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range a.lines {
		t.Errorf("a line that nobody asked for: %s", line)
	}
	if err := <-a.ended; err != nil {
		t.Errorf("agent-mcp: %v", err)
	}
}
