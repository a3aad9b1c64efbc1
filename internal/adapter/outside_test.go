package adapter_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// TestOutsideAWorkspaceItIsAServerWithoutTools, in both eras of the protocol.
func TestOutsideAWorkspaceItIsAServerWithoutTools(t *testing.T) {
	t.Parallel()
	const (
		says   = "This directory is not a Fleet workspace, so Fleet has no tools here. Start the harness in a workspace, with: ship attach REPO/NAME"
		server = `{"name":"fleet-agent","version":"v1.2.3"}`
		cached = `"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":` + server + `}`
		all    = `["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"]`
	)
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
	}
	initialized := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + version + `","capabilities":{"tools":{}},"serverInfo":` + server + `,"instructions":"` + says + `"}}`
	}
	h := start(t, t.TempDir(), []string{"HOME=/nonexistent"})
	for _, c := range []struct{ line, want string }{
		{request("initialize", `"protocolVersion":"2024-11-05"`), initialized("2024-11-05")},
		{request("initialize", `"protocolVersion":"2025-11-25"`), initialized("2025-11-25")},
		{request("initialize", `"protocolVersion":"1999-01-01"`), initialized("2025-11-25")},
		{request("initialize", ``), initialized("2025-11-25")},
		{request("ping", ``), `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{request("tools/list", ``), `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`},
		{request("tools/list", meta), `{"jsonrpc":"2.0","id":1,"result":{` + cached + `,"tools":[]}}`},
		{request("server/discover", meta), `{"jsonrpc":"2.0","id":1,"result":{` + cached + `,"supportedVersions":` + all + `,"capabilities":{"tools":{}},"instructions":"` + says + `"}}`},
		{request("server/discover", strings.Replace(meta, "2026-07-28", "2099-01-01", 1)), `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":` + all + `,"requested":"2099-01-01"}}}`},
	} {
		h.sendLine(c.line)
		h.want(c.want)
	}
	for _, c := range []struct {
		line, says string
		code       int
	}{
		{request("tools/call", `"name":"agent_init"`), "unknown tool: agent_init", -32602},
		{request("tools/call", `"name":"agent_init",`+meta), "unknown tool: agent_init", -32602},
		{request("ping", meta), "unknown method", -32601},
		{request("server/discover", ``), "unknown method", -32601},
		{request("resources/list", ``), "unknown method: resources/list", -32601},
	} {
		h.sendLine(c.line)
		h.fault("1", c.code, c.says)
	}
	h.sendLine(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, cancelled("1"), `{"jsonrpc":"2.0","id":"s","result":{}}`)
	said := h.end()
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, "not in a Fleet workspace") || !strings.Contains(said, "there is no atlas.json at or above ") || !strings.Contains(said, "; next: cd into a workspace (ship ls lists them)") {
		t.Errorf("standard error holds %q, want one line that says what was tried and what to do", said)
	}
}

func TestOutsideAWorkspaceABatchOf20250326IsAnsweredWithOne(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), nil)
	h.sendLine(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`)
	h.line()
	h.sendLine(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`)
	h.want(`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}]`)
	h.end()
}

// command runs agent-mcp with arguments and gives its outputs and status.
func command(t *testing.T, dir string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := exec.Command(program(), args...)
	var out, errs bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(env[:len(env):len(env)], shipyard.QuickEnd), &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// TestCheckTellsWhatAHarnessWouldFind and its status whether all is well.
func TestCheckTellsWhatAHarnessWouldFind(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	w := newWorkspace(t, f.port())
	down := newWorkspace(t, 1)
	inactive := newFar(t, newGuarded("x").reply)
	idle := newWorkspace(t, inactive.port())
	elsewhere := newFar(t, json200(`{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"other","version":"1"}}}`))
	other := newWorkspace(t, elsewhere.port())
	neighbour := newFar(t, json200(`{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"fleet-agent","version":"v1.3.0"}}}`))
	newer := newWorkspace(t, neighbour.port())
	for name, c := range map[string]struct {
		dir  string
		env  []string
		code int
		says []string
	}{
		"well":          {w.dir(), w.env, 0, []string{w.root, "r/w", "from the environment", w.url(f.port()), "fleet-agent v1.2.3"}},
		"versions":      {newer.dir(), newer.env, 0, []string{"v1.3.0 and agent-mcp v1.2.3 differ"}},
		"down":          {down.dir(), down.env, 1, []string{"ship up"}},
		"inactive":      {idle.dir(), idle.without("FLEET_AGENT_MCP_TOKEN"), 1, []string{"none, neither", "ship activate r/w"}},
		"other-program": {other.dir(), other.env, 1, []string{"another program"}},
		"other-place":   {w.dir(), append(w.without("FLEET_AGENT_MCP_URL"), "FLEET_AGENT_MCP_URL=http://x/y"), 1, []string{"no token was sent"}},
		"outside":       {os.TempDir(), nil, 1, []string{"not in a Fleet workspace: there is no atlas.json at or above " + os.TempDir() + "; next: cd into a workspace (ship ls lists them)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := command(t, c.dir, c.env, "--check")
			for _, text := range c.says {
				if !strings.Contains(stderr, text) {
					t.Errorf("it lacks %q", text)
				}
			}
			if code != c.code || stdout != "" || strings.Contains(stderr, w.token()) {
				t.Errorf("status %d, want %d; standard output %q", code, c.code, stdout)
			}
			if t.Failed() {
				t.Log(stderr)
			}
		})
	}
}

// status would say that a harness came and never called agent_init.
func TestACheckSaysThatItIsNoClient(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	w := newWorkspace(t, f.port())
	if _, stderr, code := command(t, w.dir(), w.env, "--check"); code != 0 {
		t.Fatalf("--check: %d %s", code, stderr)
	}
	h := w.start(t)
	h.sendLine(call("1"))
	h.want(answered("1"))
	h.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.got) != 2 || f.got[0].header.Get("Fleet-Check") != "1" || f.got[1].header.Get("Fleet-Check") != "" {
		t.Errorf("the ship got %d requests, want two, the check's marked and the harness's not", len(f.got))
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	if stdout, stderr, code := command(t, "", nil, "--version"); stdout != "agent-mcp v1.2.3\n" || stderr != "" || code != 0 {
		t.Errorf("--version gave %q, %q, %d", stdout, stderr, code)
	}
	for _, arg := range []string{"--help", "-h"} {
		if stdout, stderr, code := command(t, "", nil, arg); !strings.Contains(stdout, "agent-mcp --check") || strings.Count(stdout, "\n") > 10 || stderr != "" || code != 0 {
			t.Errorf("%s gave %q, %q, %d; want a short usage on standard output", arg, stdout, stderr, code)
		}
	}
	for _, args := range [][]string{{"help"}, {""}, {"--check", "x"}, {"serve"}} {
		if stdout, stderr, code := command(t, "", nil, args...); stdout != "" || strings.Count(stderr, "\n") != 1 || code != 2 {
			t.Errorf("%q gave %q, %q, %d; want one line on standard error and status 2", args, stdout, stderr, code)
		}
	}
}

// TestEveryMessageOfTheServerWithoutToolsIsCompact keeps each answer on its line.
func TestEveryMessageOfTheServerWithoutToolsIsCompact(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), nil)
	h.sendLine(`{"jsonrpc":"2.0","id":"<\u0000>","method":"<b>\n\u001b"}`)
	line := h.line()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(line)); err != nil || b.String() != line {
		t.Errorf("%s is not compact", line)
	}
	h.end()
}
