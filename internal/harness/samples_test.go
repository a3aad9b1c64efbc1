package harness

import (
	"strings"
	"testing"
)

// sample is a harness's file before and with our registration.
type sample struct {
	harness, file  string
	before, during string
}

// samples look like files that people have. Each one's during holds what install must add and
// every byte of before.
func samples() map[string]sample {
	const entry = `"fleet-agent": {
      "type": "stdio",
      "command": "/opt/fleet/bin/agent-mcp",
      "args": [],
      "env": {}
    }`
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	return map[string]sample{
		"claude, beside another server": {
			"claude", ".claude.json",
			"{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"docs\": {\n      \"type\": \"http\",\n      \"url\": \"https://docs.example.org/mcp\"\n    }\n  },\n  \"projects\": {}\n}",
			"{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"docs\": {\n      \"type\": \"http\",\n      \"url\": \"https://docs.example.org/mcp\"\n    },\n    " + entry + "\n  },\n  \"projects\": {}\n}",
		},
		"claude, the first server": {
			"claude", ".claude.json", "{\n  \"numStartups\": 12\n}\n",
			"{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    " + entry + "\n  }\n}\n",
		},
		"claude, an empty object for servers": {
			"claude", ".claude.json", "{\n  \"mcpServers\": {},\n  \"userID\": \"0\"\n}\n",
			"{\n  \"mcpServers\": {\n    " + entry + "\n  },\n  \"userID\": \"0\"\n}\n",
		},
		"claude, on one line": {
			"claude", ".claude.json", `{"numStartups":12,"mcpServers":{"docs":{"type":"http"}}}`,
			`{"numStartups":12,"mcpServers":{"docs":{"type":"http"},"fleet-agent":{"type":"stdio","command":"/opt/fleet/bin/agent-mcp","args":[],"env":{}}}}`,
		},
		"claude, an empty file": {"claude", ".claude.json", "", "{\n  \"mcpServers\": {\n    " + entry + "\n  }\n}\n"},
		"claude, an allow list on one line": {
			"claude", ".claude/settings.json", "{\n    \"permissions\": { \"allow\": [\"Bash(ls)\"], \"deny\": [] }\n}\n",
			"{\n    \"permissions\": { \"allow\": [\"Bash(ls)\", \"mcp__fleet-agent__agent_init\", \"mcp__fleet-agent__agent_status\"], \"deny\": [] }\n}\n",
		},
		"claude, an allow list over lines, indented by tabs": {
			"claude", ".claude/settings.json", "{\n\t\"permissions\": {\n\t\t\"allow\": [\n\t\t\t\"Bash(ls)\"\n\t\t]\n\t}\n}",
			"{\n\t\"permissions\": {\n\t\t\"allow\": [\n\t\t\t\"Bash(ls)\",\n\t\t\t\"mcp__fleet-agent__agent_init\",\n\t\t\t\"mcp__fleet-agent__agent_status\"\n\t\t]\n\t}\n}",
		},
		"gemini, comments, a trailing comma, CRLF and a byte order mark": {
			"gemini", ".gemini/settings.json",
			mark + crlf("// mine\n{\n  \"ui\": { \"theme\": \"Default\" }, // dark\n  \"mcpServers\": {\n    // the docs\n    \"docs\": { \"command\": \"docs\" }, // keep\n    /* none after */\n  },\n}\n"),
			mark + crlf("// mine\n{\n  \"ui\": { \"theme\": \"Default\" }, // dark\n  \"mcpServers\": {\n    // the docs\n    \"docs\": { \"command\": \"docs\" }, // keep\n    \"fleet-agent\": {\n      \"command\": \"/opt/fleet/bin/agent-mcp\"\n    },\n    /* none after */\n  },\n}\n"),
		},
		"gemini, a comment behind the last server": {
			"gemini", ".gemini/settings.json",
			"{\n  \"mcpServers\": {\n    \"docs\": { \"command\": \"docs\" } // keep\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"docs\": { \"command\": \"docs\" }, // keep\n    \"fleet-agent\": {\n      \"command\": \"/opt/fleet/bin/agent-mcp\"\n    }\n  }\n}\n",
		},
		"opencode, JSONC with permissions": {
			"opencode", ".config/opencode/opencode.jsonc",
			"{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"permission\": {\n    \"*\": \"ask\", // careful\n  },\n}\n",
			"{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"permission\": {\n    \"*\": \"ask\", // careful\n    \"fleet-agent_agent_init\": \"allow\",\n    \"fleet-agent_agent_status\": \"allow\",\n  },\n  \"mcp\": {\n    \"fleet-agent\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"/opt/fleet/bin/agent-mcp\"\n      ],\n      \"enabled\": true\n    }\n  },\n}\n",
		},
		"opencode, one permission for everything": {
			"opencode", ".config/opencode/opencode.json", "{\n  \"permission\": \"ask\",\n  \"mcp\": { \"docs\": { \"type\": \"local\", \"command\": [\"docs\"] } }\n}\n",
			"{\n  \"permission\": \"ask\",\n  \"mcp\": { \"docs\": { \"type\": \"local\", \"command\": [\"docs\"] }, \"fleet-agent\": {\"type\":\"local\",\"command\":[\"/opt/fleet/bin/agent-mcp\"],\"enabled\":true} }\n}\n",
		},
		"copilot": {
			"copilot", ".copilot/mcp-config.json", "{\n  \"mcpServers\": {\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"fleet-agent\": {\n      \"type\": \"local\",\n      \"command\": \"/opt/fleet/bin/agent-mcp\",\n      \"args\": [],\n      \"tools\": [\n        \"*\"\n      ]\n    }\n  }\n}\n",
		},
		"cursor's program": {
			"cursor", ".cursor/cli-config.json", "{\n  \"version\": 1,\n  \"permissions\": {\n    \"allow\": [\n      \"Shell(ls)\"\n    ],\n    \"deny\": []\n  }\n}\n",
			"{\n  \"version\": 1,\n  \"permissions\": {\n    \"allow\": [\n      \"Shell(ls)\",\n      \"Mcp(fleet-agent:agent_init)\",\n      \"Mcp(fleet-agent:agent_status)\"\n    ],\n    \"deny\": []\n  }\n}\n",
		},
		"cursor": {
			"cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"docs\": {\n      \"url\": \"https://docs.example.org/mcp\"\n    }\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"docs\": {\n      \"url\": \"https://docs.example.org/mcp\"\n    },\n    " + entry + "\n  }\n}\n",
		},
		"cursor's editor, with no list of its own": {"cursor", ".cursor/permissions.json", "{\"terminalAllowlist\": [\"ls\"]}\n", "{\"terminalAllowlist\": [\"ls\"]}\n"},
		"amp, rules of which the first wins": {
			"amp", ".config/amp/settings.json",
			"{\n  \"amp.permissions\": [\n    // everything else\n    { \"tool\": \"mcp__*\", \"action\": \"ask\" }\n  ]\n}\n",
			"{\n  \"amp.permissions\": [\n    {\n      \"tool\": \"mcp__fleet-agent__agent_status\",\n      \"action\": \"allow\"\n    },\n    {\n      \"tool\": \"mcp__fleet-agent__agent_init\",\n      \"action\": \"allow\"\n    },\n    // everything else\n    { \"tool\": \"mcp__*\", \"action\": \"ask\" }\n  ],\n  \"amp.mcpServers\": {\n    \"fleet-agent\": {\n      \"command\": \"/opt/fleet/bin/agent-mcp\",\n      \"args\": []\n    }\n  }\n}\n",
		},
		"codex": {"codex", ".codex/config.toml", codexFile, codexFile + "\n" + codexTables},
		"codex, CRLF and no final newline": {
			"codex", ".codex/config.toml", crlf("# mine\nmodel = \"m\" # it"), crlf("# mine\nmodel = \"m\" # it\n\n" + codexTables),
		},
		"codex, a byte order mark": {"codex", ".codex/config.toml", mark + "model = \"m\"\n", mark + "model = \"m\"\n\n" + codexTables},
		"codex, an empty file":     {"codex", ".codex/config.toml", "", codexTables},
	}
}

const codexFile = `# The model.
model = "stand-in"   # the small one

[mcp_servers.docs]
command = "docs"
args = [
  "--all", # of them
]

[profiles.'a b']
model = """
many
lines"""
# the end
`

const codexTables = `[mcp_servers.fleet-agent]
command = "/opt/fleet/bin/agent-mcp"

[mcp_servers.fleet-agent.tools.agent_init]
approval_mode = "approve"

[mcp_servers.fleet-agent.tools.agent_status]
approval_mode = "approve"
`

func TestInstallAddsItsPartAndUninstallGivesTheBytesBack(t *testing.T) {
	for name, c := range samples() {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(c.file, c.before)
			m.install(c.harness)
			m.is(c.file, c.during)
			if out := m.install(c.harness); len(out.Files) > 0 || out.Diff != "" {
				t.Errorf("a second Install changed %q:\n%s", out.Files, out.Diff)
			}
			if s := m.state(c.harness); s.State != Installed {
				t.Errorf("List says %s (%s), want installed", s.State, s.Detail)
			}
			m.uninstall(c.harness)
			m.is(c.file, c.before)
			if s := m.state(c.harness); s.State != NotInstalled {
				t.Errorf("List says %s (%s) afterwards, want not installed", s.State, s.Detail)
			}
		})
	}
}

// TestUninstallFindsItsPartInAFileThatChanged covers the way that does not rest on the file being
// as it was left: the record is told of another file.
func TestUninstallFindsItsPartInAFileThatChanged(t *testing.T) {
	for name, c := range samples() {
		if c.before == "" || c.before == c.during {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(c.file, c.before)
			m.install(c.harness)
			m.put(c.file, c.during+"\n")
			m.uninstall(c.harness)
			got, _ := m.get(c.file)
			want := c.before + "\n"
			if strings.Contains(name, "empty object") || name == "codex, CRLF and no final newline" {
				// What stood between the braces, and a newline that was missing, can't be told any more.
				got, want = strings.Join(strings.Fields(got), ""), strings.Join(strings.Fields(want), "")
			}
			if got != want {
				t.Errorf("%s =\n%q\nwant\n%q", c.file, got, want)
			}
		})
	}
}
