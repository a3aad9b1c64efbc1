//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/table"
)

// installed is a harness with files of its own, in which ship harness install has to find its place.
type installed struct {
	name string // as ship calls it
	row  string // as the table does
	// files are those that install may write, below the home.
	files []string
	// made gives the harness with its files, and nothing of us in them.
	made func(*testing.T, *fleet, registration) *harness
}

func installs() []installed {
	return []installed{
		{"claude", table.ClaudeCode, []string{".claude.json", ".claude/settings.json"}, func(t *testing.T, f *fleet, r registration) *harness {
			h := registerClaude(t, f, r)
			forget(t, filepath.Join(h.home, ".claude.json"), "mcpServers")
			writeFile(t, filepath.Join(mkdir(t, h.home, ".claude"), "settings.json"), 0o644, "{\n\t\"permissions\": {\"deny\": [\"WebFetch\"]}\n}\n")
			// Without --allowedTools: the rule must do.
			at := slices.Index(h.command, "--allowedTools")
			h.command = slices.Delete(h.command, at, at+2)
			return h
		}},
		{"codex", table.Codex, []string{".codex/config.toml"}, func(t *testing.T, f *fleet, r registration) *harness {
			return codexHome(t, f, r.workspace)
		}},
		{"gemini", table.GeminiCLI, []string{".gemini/settings.json", ".gemini/policies/fleet-agent.toml"}, func(t *testing.T, f *fleet, r registration) *harness {
			h := registerGemini(t, f, r)
			forget(t, filepath.Join(h.home, ".gemini", "settings.json"), "mcpServers")
			return h
		}},
		{"opencode", table.OpenCode, []string{".config/opencode/opencode.json"}, func(t *testing.T, f *fleet, r registration) *harness {
			h := registerOpenCode(t, f, r)
			file := filepath.Join(h.home, ".config", "opencode", "opencode.json")
			forget(t, file, "mcp")
			// It asks for nothing by default; whom nobody can answer is refused.
			text := read(t, file)
			writeFile(t, file, 0o644, "// mine\n"+strings.Replace(text, "{", "{\n  \"permission\": {\n    \"*\": \"ask\", // careful\n  },", 1))
			return h
		}},
		{"copilot", table.CopilotCLI, []string{".copilot/mcp-config.json"}, func(t *testing.T, f *fleet, r registration) *harness {
			h := registerCopilot(t, f, r)
			forget(t, filepath.Join(h.home, ".copilot", "mcp-config.json"), "mcpServers")
			// What the note of ship harness install says.
			at := slices.Index(h.command, "--allow-tool")
			h.command = slices.Concat(h.command[:at], []string{"--allow-tool", key + "(agent_init)", "--allow-tool", key + "(agent_status)"}, h.command[at+2:])
			return h
		}},
	}
}

// forget empties one object of a harness's file.
func forget(t *testing.T, name, object string) {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(read(t, name)), &all); err != nil {
		t.Fatal(err)
	}
	all[object] = map[string]any{}
	writeJSON(t, name, all)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// TestWhatShipInstallsEachHarnessUses registers with the real command, in a file as that harness
// has it, and holds the harness to running agent_init and agent_status without a question.
func TestWhatShipInstallsEachHarnessUses(t *testing.T) {
	f := startFleet(t)
	for _, c := range installs() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, f)
		})
	}
}

func (c installed) run(t *testing.T, f *fleet) {
	t.Helper()
	workspace := "r/installed-" + c.name
	f.ship(t, "create", workspace)
	h := c.made(t, f, registration{workspace: workspace, agentMCP: "/nowhere/agent-mcp"})
	contents := func() map[string]string {
		all := map[string]string{}
		for _, name := range c.files {
			all[name] = read(t, filepath.Join(h.home, name))
		}
		return all
	}
	ship := func(verb string) string {
		return string(f.command(t, "env", slices.Concat(h.env, []string{shipyard.Built("ship"), "harness", verb, c.name})...))
	}

	before := contents()
	ship("install")
	if out := ship("install"); !strings.Contains(out, "nothing to change") {
		t.Errorf("a second ship harness install %s says %q", c.name, out)
	}
	ship("uninstall")
	for name, text := range contents() {
		if text != before[name] {
			t.Errorf("after ship harness uninstall %s =\n%s\nwant\n%s", name, text, before[name])
		}
	}
	ship("install")
	h.start(t, f)
	h.wait(t, f)
	c.checkCalls(t, f, h)

	ship("uninstall")
	for name, text := range contents() {
		if strings.Contains(text, key) {
			t.Errorf("ship harness uninstall left us in %s:\n%s", name, text)
		}
	}
}

// checkCalls holds the first two of the model's three calls to success. The third has no rule of
// ours: what becomes of it is the harness's own matter, but for Claude Code, whose users would be asked.
func (c installed) checkCalls(t *testing.T, f *fleet, h *harness) {
	t.Helper()
	results := h.model.Results()
	if len(results) < 2 {
		t.Fatalf("%s brought back %d results, want at least 2: %+v; problems: %q", c.row, len(results), results, h.model.Problems())
	}
	for _, r := range results[:2] {
		var status agentStatus
		if err := json.Unmarshal([]byte(r.Text), &status); r.IsError || err != nil {
			t.Errorf("%s: %s came back as %q, %v", c.row, r.Tool, r.Text, err)
		}
	}
	h.checkReport(t, "ship status", f.status(t)[h.workspace].Agent)
	if c.name == "claude" && (len(results) < 3 || !results[2].IsError) {
		t.Errorf("Claude Code ran a tool that no rule lets run unasked: %+v", results)
	}
}
