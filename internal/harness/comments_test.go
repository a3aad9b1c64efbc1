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
