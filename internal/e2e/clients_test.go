//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/table"
)

// client is a harness that people use, at the one version that install.sh brings, over one of the
// two ways to the ship.
type client struct {
	name, version, transport string
	protocol                 string // the revision that this version speaks with the ship
	registered               func(*testing.T, *fleet, registration) *harness
}

// registration is what a client is to be registered with.
type registration struct {
	workspace string
	agentMCP  string // the command of stdio; empty: by HTTP, at the URL of the session's environment
}

func clients() []client {
	both := func(name, version, stdio, http string, how func(*testing.T, *fleet, registration) *harness) []client {
		return []client{
			{name, version, table.Stdio, stdio, how},
			{name, version, table.HTTP, http, how},
		}
	}
	return slices.Concat(
		both(table.ClaudeCode, "2.1.332", "2026-07-28", "2026-07-28", registerClaude),
		both(table.ClaudeCode, "2.1.197", "2025-11-25", "2025-11-25", registerOlderClaude),
		both(table.Codex, "0.171.0", "2025-06-18", "2025-06-18", registerCodex),
		both(table.GeminiCLI, "0.61.0", "2025-06-18", "2025-06-18", registerGemini),
		both(table.OpenCode, "1.18.33", "2025-11-25", "2025-11-25", registerOpenCode),
		both(table.CopilotCLI, "1.0.102", "2026-07-28", "2026-07-28", registerCopilot),
	)
}

// slug names the client in a workspace's name and in a file's.
func (c client) slug() string {
	name := strings.ToLower(strings.ReplaceAll(c.name, " ", "-"))
	return name + "-" + c.version + "-" + c.transport
}

// TestEachHarnessCallsTheToolsOfItsWorkspace runs every harness in its workspace's real session.
// What it did is read where nobody of it can have a say: from the ship, and from the wire.
func TestEachHarnessCallsTheToolsOfItsWorkspace(t *testing.T) {
	f := startFleet(t)
	for _, c := range clients() {
		t.Run(c.slug(), func(t *testing.T) {
			t.Parallel()
			c.run(t, f)
		})
	}
}

func (c client) run(t *testing.T, f *fleet) {
	how := registration{workspace: "r/" + strings.ReplaceAll(c.slug(), ".", "-")}
	f.ship(t, "create", how.workspace)
	var record recorder
	if c.transport == table.Stdio {
		pipe := recordPipe(t, f, c.slug())
		how.agentMCP, record = pipe.program, pipe
	} else {
		record = recordHTTP(t, f)
	}
	h := c.registered(t, f, how)
	h.command = slices.Concat(record.prefix(), h.command)
	h.start(t, f)
	h.wait(t, f)

	h.check(t)
	h.checkReport(t, "ship status", f.status(t)[how.workspace].Agent)
	called := []string{"agent_init", "agent_status", "agent_status_get"}
	if got := f.calls(t, how.workspace); !slices.Equal(got, called) {
		t.Errorf("calls.jsonl has the calls %q of %s, want %q", got, how.workspace, called)
	}
	talk := record.talk(t)
	listed := talk.listed(t)
	if !slices.Equal(listed, thirteen) {
		t.Errorf("tools/list was answered with %q, want %q", listed, thirteen)
	}
	protocol, version := talk.protocol(t), talk.clientVersion(t)
	if protocol != c.protocol || version != c.version {
		t.Errorf("%s names itself version %s and speaks %s; want %s and %s", c.name, version, protocol, c.version, c.protocol)
	}
	talk.keep(t, f, c)
	table.Client(t, table.ClientRow{
		Client: c.name, Version: version, Transport: c.transport, Protocol: protocol,
		Tools: len(listed), Call: strings.Join(called, ", "),
	})
}

// calls gives the tools that calls.jsonl says were called in workspace, in order, if all went well.
func (f *fleet) calls(t *testing.T, workspace string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.atlas, ".ship", "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for line := range bytes.Lines(text) {
		var e struct{ Type, Repo, Workspace, Tool, Outcome string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("calls.jsonl: %v in %s", err, line)
		}
		if e.Repo+"/"+e.Workspace != workspace {
			continue
		}
		if e.Type != "tool.call" || e.Outcome != "ok" {
			t.Errorf("calls.jsonl has %s", line)
		}
		tools = append(tools, e.Tool)
	}
	return tools
}
