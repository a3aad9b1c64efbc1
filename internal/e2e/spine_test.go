//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// TestRealHarnessesReportFromTheirOwnWorkspaces is the main job, end to end: three agents at
// once, each bound to its workspace by nothing but where it was started.
func TestRealHarnessesReportFromTheirOwnWorkspaces(t *testing.T) {
	f := startFleet(t)
	agentMCP := shipyard.Built("agent-mcp")
	noting := filepath.Join(f.bin, "noting-agent-mcp")
	writeFile(t, noting, 0o700, "#!/bin/sh\nenv > \"$HOME/agent-mcp.env\"\nexec '"+agentMCP+"'\n")

	codex := newCodex(t, f, "r/codex", noting)
	all := []*harness{
		newClaude(t, f, "r/claude", key, "--", agentMCP),
		newClaude(t, f, "r/http", "--transport", "http", key, "${FLEET_AGENT_MCP_URL}",
			"--header", "Authorization: Bearer ${FLEET_AGENT_MCP_TOKEN}"),
		codex,
	}
	for _, h := range all {
		f.ship(t, "create", h.workspace)
		h.start(t, f)
	}
	t.Run("at once", func(t *testing.T) {
		for _, h := range all {
			t.Run(h.workspace, func(t *testing.T) {
				t.Parallel()
				h.wait(t, f)
				h.check(t)
			})
		}
	})
	if t.Failed() {
		return
	}

	status := f.status(t)
	for _, h := range all {
		w := status[h.workspace]
		h.checkReport(t, "ship status", w.Agent)
		if !w.Active || w.Observed.LastCallAt == nil || w.Observed.MCPSeen == nil || !*w.Observed.MCPSeen {
			t.Errorf("ship status shows %s as %+v, want active, with an MCP client seen", h.workspace, w)
		}
	}

	// Without this, Codex's case would say nothing of a scrubbed environment.
	env, err := os.ReadFile(filepath.Join(codex.home, "agent-mcp.env"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(env), "FLEET_") || strings.Contains(string(env), "TMUX") {
		t.Errorf("Codex handed the session's variables on:\n%s", env)
	}
}
