package harness

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestModeOwnerAndLinksOfAFileAreKept(t *testing.T) {
	m := newMachine(t)
	m.put("dotfiles/claude.json", "{}\n")
	owner := os.Getuid()
	if owner == 0 { // who else could give a file away
		owner = 12345
		if err := os.Chown(filepath.Join(m.home, "dotfiles/claude.json"), owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(m.home, ".claude.json")
	if err := os.Symlink("dotfiles/claude.json", link); err != nil {
		t.Fatal(err)
	}
	m.install("claude")
	if to, err := os.Readlink(link); err != nil || to != "dotfiles/claude.json" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if text, _ := m.get("dotfiles/claude.json"); !strings.Contains(text, Key) {
		t.Errorf("the link's target = %s", text)
	}
	info, err := os.Stat(link)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the target's mode is %v, %v; want 0640", info.Mode(), err)
	}
	if got := info.Sys().(*syscall.Stat_t).Uid; int(got) != owner {
		t.Errorf("the target's owner is %d, want %d", got, owner)
	}
	m.uninstall("claude")
	m.is("dotfiles/claude.json", "{}\n")
}

func TestAFileThatCanNotTakeItsPartIsNamedWithThePlace(t *testing.T) {
	for name, c := range map[string]struct{ harness, file, text, want string }{
		"JSON that ends":             {"claude", ".claude.json", "{\n  \"a\": [1,\n", "line 3, column 1"},
		"JSON with a stray word":     {"gemini", ".gemini/settings.json", "{\n  \"a\": x\n}", "line 2, column 8"},
		"a list for the servers":     {"cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": []\n}", `line 2, column 17: "mcpServers" is not an object`},
		"a list for the file":        {"copilot", ".copilot/mcp-config.json", "[]", "line 1, column 1: the file is not an object"},
		"a string for the rules":     {"claude", ".claude/settings.json", `{"permissions": {"allow": "all"}}`, `line 1, column 27: "permissions.allow" is not an array`},
		"the servers twice":          {"copilot", ".copilot/mcp-config.json", "{\"mcpServers\": {},\n\"mcpServers\": {}}", `line 2, column 1: "mcpServers" is there twice`},
		"TOML without a value":       {"codex", ".codex/config.toml", "model = \"m\"\nother =\n", "line 2, column"},
		"TOML with a table twice":    {"codex", ".codex/config.toml", "[a]\n[a]\n", "line 2, column"},
		"TOML, servers that are one": {"codex", ".codex/config.toml", "mcp_servers = 1\n", `"mcp_servers" is not a table`},
		"TOML, servers in one line":  {"codex", ".codex/config.toml", "mcp_servers = { docs = { command = \"docs\" } }\n", `"mcp_servers" is written in a form`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.put(c.file, c.text)
			_, err := m.installer(adapter).Install(c.harness, false)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join(m.home, c.file)) || !strings.Contains(err.Error(), "; next: ") {
				t.Errorf("Install: %v, want the file, %q and what to do", err, c.want)
			}
			m.is(c.file, c.text)
			if left, err := os.ReadDir(m.home); err != nil || len(left) != 2 { // the file or its folder, and the record's
				t.Errorf("the home holds %v, %v; want nothing new but the lock's folder", left, err)
			}
			if s := m.state(c.harness); s.State != Unreadable && c.want != `"mcp_servers" is written in a form` {
				t.Errorf("List says %s, want unreadable", s.State)
			}
		})
	}
}

func TestAChangeBetweenReadingAndWritingIsNotOverwritten(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join(m.home, "x.json")
	for name, change := range map[string]func(){
		"new bytes":        func() { m.put("x.json", `{"b":2}`) },
		"the same, anew":   func() { _ = os.Rename(path, path+".old"); m.put("x.json", `{"a":1}`) },
		"it went":          func() { _ = os.Remove(path) },
		"it became a link": func() { _ = os.Rename(path, path+".real"); _ = os.Symlink(path+".real", path) },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(path)
			m.put("x.json", `{"a":1}`)
			f, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			change()
			was, _ := m.get("x.json")
			if err := f.write([]byte("ours")); err == nil || !strings.Contains(err.Error(), "was changed by another program") {
				t.Errorf("write: %v", err)
			}
			if err := f.erase(nil); err == nil {
				t.Error("erase did not mind")
			}
			if now, _ := m.get("x.json"); now != was {
				t.Errorf("the file = %q, want %q", now, was)
			}
		})
	}
	missing, err := open(filepath.Join(m.home, "y.json"))
	if err != nil {
		t.Fatal(err)
	}
	m.put("y.json", "theirs")
	if err := missing.write([]byte("ours")); err == nil {
		t.Error("a file that came meanwhile was overwritten")
	}
	m.is("y.json", "theirs")
}

func TestFilesThatAreNoneAndReadOnlyOnesAreRefused(t *testing.T) {
	m := newMachine(t)
	m.put(".claude.json", "{}")
	if err := os.Chmod(filepath.Join(m.home, ".claude.json"), 0o440); err != nil {
		t.Fatal(err)
	}
	if _, err := m.installer(adapter).Install("claude", false); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("Install into a read-only file: %v", err)
	}
	m.is(".claude.json", "{}")
	if err := os.Symlink("nowhere", filepath.Join(m.home, ".codex")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(m.home, ".copilot", "mcp-config.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"codex", "copilot"} {
		if _, err := m.installer(adapter).Install(name, false); err == nil {
			t.Errorf("Install(%s) did not mind", name)
		}
	}
}

func TestADryRunShowsADiffAndWritesNothing(t *testing.T) {
	m := newMachine(t)
	m.put(".codex/config.toml", codexFile)
	out, err := m.installer(adapter).Install("codex", true)
	if err != nil || !strings.Contains(out.Diff, "\n+[mcp_servers.fleet-agent]\n") {
		t.Errorf("Install(dry) = %v, %v", out, err)
	}
	if taken := strings.Count(out.Diff, "\n-") - strings.Count(out.Diff, "\n--- "); taken != 0 {
		t.Errorf("Install(dry) takes %d lines away:\n%s", taken, out.Diff)
	}
	m.is(".codex/config.toml", codexFile)
	if left, _ := os.ReadDir(m.home); len(left) != 1 {
		t.Errorf("a dry run left %v", left)
	}
	m.install("codex")
	during, _ := m.get(".codex/config.toml")
	if out, err := m.installer(adapter).Uninstall("codex", true); err != nil || !strings.Contains(out.Diff, "\n-[mcp_servers.fleet-agent]\n") {
		t.Errorf("Uninstall(dry) = %v, %v", out, err)
	}
	m.is(".codex/config.toml", during)
}

func TestEachHarnesssOwnHomeIsHonoured(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"} {
		m.env[name] = filepath.Join(m.home, "at", name)
	}
	for name, want := range map[string]string{
		"claude": "CLAUDE_CONFIG_DIR/.claude.json", "codex": "CODEX_HOME/config.toml", "gemini": "GEMINI_CLI_HOME/.gemini/settings.json",
		"copilot": "COPILOT_HOME/mcp-config.json", "opencode": "XDG_CONFIG_HOME/opencode/opencode.json", "amp": "XDG_CONFIG_HOME/amp/settings.json",
	} {
		m.install(name)
		if _, ok := m.get(filepath.Join("at", want)); !ok {
			t.Errorf("Install(%s) wrote no %s", name, want)
		}
	}
	m.env["AMP_SETTINGS_FILE"] = filepath.Join(m.home, "amp.json")
	m.install("amp")
	if text, _ := m.get("amp.json"); !strings.Contains(text, Key) {
		t.Errorf("amp.json = %s", text)
	}
	const list = `{"permissions": {"allow": []}}`
	m.put("at/XDG_CONFIG_HOME/cursor/cli-config.json", list)
	m.put("at/CURSOR_CONFIG_DIR/cli-config.json", list)
	m.env["CURSOR_CONFIG_DIR"] = filepath.Join(m.home, "at/CURSOR_CONFIG_DIR")
	m.install("cursor")
	m.is("at/XDG_CONFIG_HOME/cursor/cli-config.json", list)
	delete(m.env, "CURSOR_CONFIG_DIR")
	m.install("cursor")
	for _, name := range []string{"at/XDG_CONFIG_HOME/cursor", "at/CURSOR_CONFIG_DIR"} {
		m.is(name+"/cli-config.json", `{"permissions": {"allow": ["Mcp(fleet-agent:agent_init)", "Mcp(fleet-agent:agent_status)"]}}`)
	}
	m.env["XDG_CONFIG_HOME"] = "relative"
	if got := m.state("opencode").File; got != filepath.Join(m.home, ".config/opencode/opencode.json") {
		t.Errorf("with a relative XDG_CONFIG_HOME opencode's file is %s", got)
	}
}

func TestTheRecordIsPrivateAndHoldsNothingOfAFile(t *testing.T) {
	m := newMachine(t)
	m.put(".claude.json", `{"oauthAccount": {"emailAddress": "ann@example.org"}}`)
	m.install("claude")
	text, _ := m.get(".local/state/fleet/harnesses.json")
	if text == "" || strings.Contains(text, "ann@") || strings.Contains(text, "agent-mcp") {
		t.Errorf("the record = %s", text)
	}
	info, err := os.Stat(filepath.Join(m.home, ".local/state/fleet/harnesses.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record's mode is %v, %v; want 0600", info.Mode(), err)
	}
	m.put(".local/state/fleet/harnesses.json", "no record")
	if _, err := m.installer(adapter).Install("claude", false); err == nil || !strings.Contains(err.Error(), "; next: remove it") {
		t.Errorf("Install with a broken record: %v", err)
	}
}
