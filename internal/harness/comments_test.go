package harness

import (
	"strings"
	"testing"
)

func TestCommentsOfTheUserOutliveUninstallInTOML(t *testing.T) {
	for name, c := range map[string]struct{ find, replace string }{
		"inside":       {"command =", "# mine: keep me\ncommand ="},
		"on a header":  {"[mcp_servers.fleet-agent]\n", "[mcp_servers.fleet-agent] # mine: keep me\n"},
		"on a value":   {"agent-mcp\"\n", "agent-mcp\" # mine: keep me\n"},
		"above":        {"[mcp_servers.fleet-agent]\n", "# mine: keep me\n[mcp_servers.fleet-agent]\n"},
		"above a rule": {"[mcp_servers.fleet-agent.tools.agent_init]\n", "# mine: keep me\n[mcp_servers.fleet-agent.tools.agent_init]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(".codex/config.toml", "model = \"x\"\n")
			m.install("codex")
			text, _ := m.get(".codex/config.toml")
			if !strings.Contains(text, c.find) {
				t.Fatalf("no %q in %s", c.find, text)
			}
			m.put(".codex/config.toml", strings.Replace(text, c.find, c.replace, 1))
			m.uninstall("codex")
			got, _ := m.get(".codex/config.toml")
			if strings.Count(got, "# mine: keep me\n") != 1 || strings.Contains(got, "fleet-agent") {
				t.Errorf("left is %q, want the comment and nothing of ours", got)
			}
		})
	}
}

func TestCommentsOfTheUserOutliveUninstallInJSONC(t *testing.T) {
	const file = ".config/opencode/opencode.jsonc"
	for name, c := range map[string]struct{ find, replace string }{
		"above":          {`    "fleet-agent"`, "    // mine: keep me\n    \"fleet-agent\""},
		"on the opening": {`"mcp": {`, `"mcp": { // mine: keep me`},
		"inside":         {`"type"`, "// mine: keep me\n      \"type\""},
		"inside, a box":  {`"type"`, `/* mine: keep me */ "type"`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(file, "{\n  \"model\": \"x\"\n}\n")
			m.install("opencode")
			text, _ := m.get(file)
			if !strings.Contains(text, c.find) {
				t.Fatalf("no %q in %s", c.find, text)
			}
			m.put(file, strings.Replace(text, c.find, c.replace, 1))
			m.uninstall("opencode")
			got, _ := m.get(file)
			if strings.Count(got, "mine: keep me") != 1 || strings.Contains(got, "fleet-agent") {
				t.Errorf("left is %q, want the comment and nothing of ours", got)
			}
			if _, _, err := parseJSON([]byte(got)); err != nil {
				t.Errorf("left is %q: %v", got, err)
			}
		})
	}
}

func TestACommentThatIsKeptSwallowsNoBrace(t *testing.T) {
	const file = "{ \"mcp\": { \"mine\": { // keep me\n} } }\n"
	c := jsonChange{path: []string{"mcp", "mine"}}
	got, err := c.remove([]byte(file), 0)
	if err != nil || !strings.Contains(string(got), "// keep me\n") {
		t.Errorf("remove = %q, %v, want the comment on a line of its own", got, err)
	}
	if _, _, err := parseJSON(got); err != nil {
		t.Errorf("remove = %q: %v", got, err)
	}
}
