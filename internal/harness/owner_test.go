package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAForeignOrEditedEntryIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct{ harness, file, text string }{
		"another program":             {"claude", ".claude.json", `{"mcpServers": {"fleet-agent": {"command": "/usr/bin/other"}}}`},
		"codex, another program":      {"codex", ".codex/config.toml", "[mcp_servers.fleet-agent]\ncommand = \"other\"\n"},
		"codex, keys with dots":       {"codex", ".codex/config.toml", "mcp_servers.fleet-agent.command = \"other\"\n"},
		"codex, an inline table":      {"codex", ".codex/config.toml", "mcp_servers = { fleet-agent = { command = \"other\" } }\n"},
		"gemini, a policy of its own": {"gemini", ".gemini/policies/fleet-agent.toml", "[[rule]]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(c.file, c.text)
			if _, err := m.installer(adapter).Install(c.harness, false); !errors.Is(err, ErrConflict) {
				t.Errorf("Install: %v, want ErrConflict", err)
			}
			if s := m.state(c.harness); s.State != Conflict || !strings.Contains(s.Detail, filepath.Join(m.home, c.file)) {
				t.Errorf("List says %s (%s), want conflict and the file", s.State, s.Detail)
			}
			if out := m.uninstall(c.harness); len(out.Files) > 0 || len(out.Left) != 1 {
				t.Errorf("Uninstall changed %q and left %q, want one left", out.Files, out.Left)
			}
			m.is(c.file, c.text)
			if _, ok := m.get(".claude/settings.json"); ok {
				t.Error("rules were written for a registration that was not")
			}
		})
	}
}

func TestAnEditOfOurEntryMakesItTheUsers(t *testing.T) {
	m := newMachine(t)
	m.put(".claude.json", "{}")
	m.install("claude")
	text, _ := m.get(".claude.json")
	edited := strings.Replace(text, `"args": []`, `"args": ["--check"]`, 1)
	m.put(".claude.json", edited)
	if s := m.state("claude"); s.State != Conflict {
		t.Errorf("List says %s, want conflict", s.State)
	}
	if out := m.uninstall("claude"); len(out.Left) != 1 {
		t.Errorf("Uninstall left %q, want the entry", out.Left)
	}
	m.is(".claude.json", edited)
	if _, ok := m.get(".claude/settings.json"); ok {
		t.Error("the rules, which nobody edited, are still there")
	}
	m.put(".claude.json", text) // the edit undone
	m.uninstall("claude")
	if got, _ := m.get(".claude.json"); strings.Contains(got, Key) {
		t.Errorf("once the edit was undone, Uninstall left %s", got)
	}
}

func TestWhatTheUserWroteLikeUsStaysTheUsers(t *testing.T) {
	m := newMachine(t)
	mine := `{"mcpServers":{"fleet-agent":{"command":"` + adapter + `","type":"stdio","env":{},"args":[]}}}`
	m.put(".claude.json", mine)
	m.put(".claude/settings.json", `{"permissions":{"allow":["mcp__fleet-agent__agent_init"]}}`)
	m.install("claude")
	m.is(".claude.json", mine)
	m.is(".claude/settings.json", `{"permissions":{"allow":["mcp__fleet-agent__agent_init","mcp__fleet-agent__agent_status"]}}`)
	if s := m.state("claude"); s.State != Installed {
		t.Errorf("List says %s, want installed", s.State)
	}
	if out := m.uninstall("claude"); len(out.Left) != 1 {
		t.Errorf("Uninstall left %q, want the user's entry", out.Left)
	}
	m.is(".claude.json", mine)
	m.is(".claude/settings.json", `{"permissions":{"allow":["mcp__fleet-agent__agent_init"]}}`)
}

func TestAMovedProgramIsUpdatedInPlace(t *testing.T) {
	for name, c := range samples() {
		if c.before == c.during || c.harness == "cursor" && c.file != ".cursor/mcp.json" || c.file == ".claude/settings.json" {
			continue
		}
		for _, grown := range []string{"", "\n"} { // the second: another program touched the file
			t.Run(name+" "+grown, func(t *testing.T) {
				m := newMachine(t)
				m.put(c.file, c.before)
				if _, err := m.installer("/old/agent-mcp").Install(c.harness, false); err != nil {
					t.Fatal(err)
				}
				was, _ := m.get(c.file)
				m.put(c.file, was+grown)
				if s := m.state(c.harness); s.State != Outdated {
					t.Errorf("List says %s (%s), want outdated", s.State, s.Detail)
				}
				m.install(c.harness)
				m.is(c.file, c.during+grown)
				if grown == "" {
					m.uninstall(c.harness)
					m.is(c.file, c.before)
				}
			})
		}
	}
}

func TestWhatWasAddedAtSeveralTimesGoesAtOnce(t *testing.T) {
	m := newMachine(t)
	if _, err := m.installer("/old/agent-mcp").Install("opencode", false); err != nil {
		t.Fatal(err)
	}
	const file = ".config/opencode/opencode.json"
	text, _ := m.get(file)
	m.put(file, strings.Replace(text, "{", "{\n  \"permission\": {\n    \"*\": \"ask\"\n  },", 1))
	m.install("opencode")
	if text, _ := m.get(file); strings.Count(text, Key) != 3 || strings.Contains(text, "/old/") {
		t.Errorf("after the renewal %s =\n%s", file, text)
	}
	m.uninstall("opencode")
	m.is(file, "{\n  \"permission\": {\n    \"*\": \"ask\"\n  }\n}\n")
}

func TestTheApprovalsThatAUserGaveCodexDoNotMakeAConflict(t *testing.T) {
	m := newMachine(t)
	m.put(".codex/config.toml", codexFile)
	if _, err := m.installer("/old/agent-mcp").Install("codex", false); err != nil {
		t.Fatal(err)
	}
	const theirs = "\n[mcp_servers.fleet-agent.tools.repo_info]\napproval_mode = \"approve\"\n\n[projects.\"/src\"]\ntrust_level = \"trusted\"\n"
	was, _ := m.get(".codex/config.toml")
	m.put(".codex/config.toml", was+theirs)
	m.install("codex")
	m.is(".codex/config.toml", codexFile+"\n"+codexTables+theirs)
	// An approval of a server that is gone would be a server without a command.
	m.uninstall("codex")
	m.is(".codex/config.toml", codexFile+"\n[projects.\"/src\"]\ntrust_level = \"trusted\"\n")
}

func TestAHarnessMayRewriteItsWholeFile(t *testing.T) {
	m := newMachine(t)
	m.put(".claude.json", `{"mcpServers":{},"numStartups":1}`)
	m.install("claude")
	m.put(".claude.json", "{\n  \"mcpServers\": {\n    \"fleet-agent\": {\n      \"env\": {},\n      \"args\": [],\n      \"command\": \""+adapter+"\",\n      \"type\": \"stdio\"\n    }\n  },\n  \"numStartups\": 2\n}")
	if s := m.state("claude"); s.State != Installed {
		t.Errorf("List says %s (%s), want installed", s.State, s.Detail)
	}
	m.uninstall("claude")
	m.is(".claude.json", "{\n  \"mcpServers\": {\n  },\n  \"numStartups\": 2\n}")
}

func TestFilesThatInstallMadeGoAgain(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.env["XDG_STATE_HOME"] = t.TempDir()
			m.install(name)
			if info, err := os.Stat(m.state(name).File); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the new file is %v, %v; want mode 0600", info, err)
			}
			m.uninstall(name)
			if left, err := os.ReadDir(m.home); err != nil || len(left) > 0 {
				t.Errorf("after Uninstall the home holds %v, %v", left, err)
			}
		})
	}
}

func TestAFileThatInstallMadeStaysOnceSomethingElseIsInIt(t *testing.T) {
	m := newMachine(t)
	m.install("cursor")
	text, _ := m.get(".cursor/mcp.json")
	m.put(".cursor/mcp.json", strings.Replace(text, "\n  }\n}", ",\n    \"docs\": {}\n  }\n}", 1))
	m.uninstall("cursor")
	m.is(".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"docs\": {}\n  }\n}\n")
}
