package promises_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAScrubbedEnvironmentStillFindsItsToken(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "é b")
	for what, env := range map[string][]string{
		"HOME and PATH": scrubbed(f),
		"PATH alone":    {"PATH=" + os.Getenv("PATH")},
		"unexpanded":    append(scrubbed(f), "FLEET_AGENT_MCP_TOKEN=${FLEET_AGENT_MCP_TOKEN}", "FLEET_AGENT_MCP_URL=${FLEET_AGENT_MCP_URL}"),
		"nothing":       {},
	} {
		for _, name := range []string{"one", "é b"} {
			sub := filepath.Join(f.path(name), "deep", "down")
			if err := os.MkdirAll(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			a := startAdapter(t, sub, env)
			a.open(t)
			a.register(t, what)
			if got := statusOf(t, a.call(t, "agent_status_get", "{}").ok(t)); got.Workspace != name || got.Description != what {
				t.Errorf("%s in r/%s: agent_status_get = %+v", what, name, got)
			}
			if code, rest := a.end(t); code != 0 || len(rest) > 0 || a.stderr.String() != "" {
				t.Errorf("%s in r/%s: agent-mcp ended with %d, %q more and stderr %q, want a silent 0", what, name, code, rest, a.stderr)
			}
		}
	}
}

func TestOutsideEveryAtlasThereAreNoToolsAndNoNoise(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	for what, dir := range map[string]string{
		"a folder of its own": f.mkdir(t, "elsewhere"),
		"the atlas itself":    f.root,
		"a repo's folder":     filepath.Join(f.root, "r"),
		"another checkout":    f.origin,
	} {
		for whose, env := range map[string][]string{"scrubbed": scrubbed(f), "the pane's": f.paneEnv(t, "one")} {
			a := startAdapter(t, dir, env)
			if m := a.open(t); !strings.Contains(string(m.Result), `"name":"fleet-agent"`) {
				t.Errorf("%s, %s environment: initialize = %s, want fleet-agent", what, whose, m.raw)
			}
			if m := a.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); string(m.Result) != `{"tools":[]}` {
				t.Errorf("%s, %s environment: tools/list = %s, want no tools", what, whose, m.raw)
			}
			if m := a.ask(t, call("2", "agent_status_get", "{}")); m.Error == nil || string(m.ID) != "2" {
				t.Errorf("%s, %s environment: a call = %s, want an error", what, whose, m.raw)
			}
			code, rest := a.end(t)
			said := a.stderr.String()
			if code != 0 || len(rest) > 0 || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "\n") || !strings.Contains(said, "not in a Fleet workspace") {
				t.Errorf("%s, %s environment: agent-mcp ended with %d, %q more, stderr %q; want 0, nothing and one line", what, whose, code, rest, said)
			}
		}
	}
	if w := f.workspaces(t)["one"]; *w.Observed.MCPSeen {
		t.Error("an adapter outside every workspace called the ship")
	}
}

func TestAWorkspaceThatIsNotActiveSaysHowToActivateIt(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/é b")
	a := startAdapter(t, f.path("é b"), scrubbed(f))
	for id, line := range map[string]string{
		"1": `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		"2": call("2", "agent_status_get", "{}"),
	} {
		m := a.ask(t, line)
		if string(m.ID) != id || m.Error == nil || m.Error.Code != -32603 || !strings.Contains(m.Error.Message, "ship activate 'r/é b'") {
			t.Errorf("%s = %s, want -32603 that says ship activate 'r/é b'", line, m.raw)
		}
	}
}
