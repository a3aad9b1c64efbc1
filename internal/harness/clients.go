package harness

import (
	"path/filepath"
	"strings"
)

// Key is the name under which every harness knows the server.
const Key = "fleet-agent"

// unasked are the tools that shall run without a question to the user.
func unasked() []string { return []string{"agent_init", "agent_status"} }

// client is one harness: its programs, its folder, and what its registration is.
type client struct {
	name, title string
	programs    []string
	folder      func(home) string
	changes     func(h home, adapter string) ([]change, error)
	note        string // what a user has to know, "" for nothing
}

func clients() []client {
	return []client{
		{name: "claude", title: "Claude Code", programs: []string{"claude"}, folder: claudeFolder, changes: claude},
		{name: "codex", title: "Codex", programs: []string{"codex"}, folder: codexFolder, changes: codex},
		{
			name: "gemini", title: "Gemini CLI", programs: []string{"gemini"}, folder: geminiFolder, changes: gemini,
			note: "Gemini CLI starts servers only in folders that it was told to trust; it asks once for each",
		},
		{name: "opencode", title: "opencode", programs: []string{"opencode"}, folder: opencodeFolder, changes: opencode},
		{
			name: "copilot", title: "Copilot CLI", programs: []string{"copilot"}, folder: copilotFolder, changes: copilot,
			note: "Copilot CLI keeps approvals per folder, not per user: start it as copilot --allow-tool 'fleet-agent(agent_init)' --allow-tool 'fleet-agent(agent_status)'",
		},
		{
			name: "cursor", title: "Cursor", programs: []string{"cursor-agent", "cursor"}, folder: cursorFolder, changes: cursor,
			note: "Cursor's editor keeps its own list of tools that run unasked: allow the two there at their first call",
		},
		{name: "amp", title: "Amp", programs: []string{"amp"}, folder: ampFolder, changes: amp},
	}
}

// home is where harnesses look for their files.
type home struct {
	dir    string
	getenv func(string) string
	pick   func(candidates ...string) string // of several names, the one in use
}

// env gives the folder that a variable names, else the one at fallback below the home.
func (h home) env(name string, fallback ...string) string {
	if dir := h.getenv(name); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
	}
	return filepath.Join(append([]string{h.dir}, fallback...)...)
}

// config is the XDG folder for configuration; the standard ignores one that is not absolute.
func (h home) config() string {
	if dir := h.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(h.dir, ".config")
}

func claudeFolder(h home) string   { return h.env("CLAUDE_CONFIG_DIR", ".claude") }
func codexFolder(h home) string    { return h.env("CODEX_HOME", ".codex") }
func geminiFolder(h home) string   { return filepath.Join(h.env("GEMINI_CLI_HOME"), ".gemini") }
func opencodeFolder(h home) string { return filepath.Join(h.config(), "opencode") }
func copilotFolder(h home) string  { return h.env("COPILOT_HOME", ".copilot") }
func cursorFolder(h home) string   { return filepath.Join(h.dir, ".cursor") }
func ampFolder(h home) string      { return filepath.Join(h.config(), "amp") }

// server is the registration that Claude Code, Copilot CLI and Cursor write down alike. The
// fields and their order are those that `claude mcp add` writes.
type server struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// claude: https://code.claude.com/docs/en/mcp and /permissions. Without CLAUDE_CONFIG_DIR the
// servers stand beside the folder, with it in it.
func claude(h home, adapter string) ([]change, error) {
	servers := filepath.Join(h.dir, ".claude.json")
	if h.getenv("CLAUDE_CONFIG_DIR") != "" {
		servers = filepath.Join(claudeFolder(h), ".claude.json")
	}
	all := []change{jsonChange{
		place: place{servers, entry}, path: []string{"mcpServers", Key},
		value: server{"stdio", adapter, []string{}, map[string]string{}},
	}}
	for _, tool := range unasked() {
		all = append(all, jsonChange{
			place: place{filepath.Join(claudeFolder(h), "settings.json"), rule}, path: []string{"permissions", "allow"},
			element: true, value: "mcp__" + Key + "__" + tool,
		})
	}
	return all, nil
}

// codex: https://developers.openai.com/codex/config-reference. It keeps the user's own approvals
// in the sub-table tools.
func codex(h home, adapter string) ([]change, error) {
	command, err := tomlString(adapter)
	if err != nil {
		return nil, err
	}
	c := tomlChange{
		place: place{filepath.Join(codexFolder(h), "config.toml"), entry},
		table: []string{"mcp_servers", Key}, lines: []string{"command = " + command}, open: "tools",
	}
	for _, tool := range unasked() {
		c.below = append(c.below, tomlPart{[]string{"tools", tool}, []string{`approval_mode = "approve"`}})
	}
	return []change{c}, nil
}

// gemini: https://geminicli.com/docs/reference/policy-engine. "trust": true would let every tool
// run unasked, those that write to the forge too; a policy names the two.
func gemini(h home, adapter string) ([]change, error) {
	type command struct {
		Command string `json:"command"`
	}
	return []change{
		jsonChange{place: place{filepath.Join(geminiFolder(h), "settings.json"), entry}, path: []string{"mcpServers", Key}, value: command{adapter}},
		wholeFile{
			place: place{filepath.Join(geminiFolder(h), "policies", Key+".toml"), entry},
			text: "# Written by `ship harness install gemini`; `ship harness uninstall gemini` removes it.\n[[rule]]\nmcpName = \"" + Key + "\"\n" +
				"toolName = [\"" + strings.Join(unasked(), `", "`) + "\"]\ndecision = \"allow\"\npriority = 100\n",
		},
	}, nil
}

// opencode: https://opencode.ai/docs/mcp-servers and /permissions. It runs tools unasked unless
// "permission" says otherwise, and there the last rule that matches wins.
func opencode(h home, adapter string) ([]change, error) {
	type local struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}
	path := h.pick(filepath.Join(opencodeFolder(h), "opencode.json"), filepath.Join(opencodeFolder(h), "opencode.jsonc"))
	all := []change{jsonChange{place: place{path, entry}, path: []string{"mcp", Key}, value: local{"local", []string{adapter}, true}}}
	for _, tool := range unasked() {
		all = append(all, jsonChange{place: place{path, narrowing}, path: []string{"permission", Key + "_" + tool}, value: "allow"})
	}
	return all, nil
}

// copilot: https://docs.github.com/copilot/how-tos/copilot-cli. It has no approval for a user:
// permissions-config.json is by folder.
func copilot(h home, adapter string) ([]change, error) {
	type local struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Tools   []string `json:"tools"`
	}
	return []change{jsonChange{
		place: place{filepath.Join(copilotFolder(h), "mcp-config.json"), entry}, path: []string{"mcpServers", Key},
		value: local{"local", adapter, []string{}, []string{"*"}},
	}}, nil
}

// cursor: https://cursor.com/docs/mcp, /cli/reference/permissions and /reference/permissions. A
// list in permissions.json would replace the editor's own, so it is not made.
func cursor(h home, adapter string) ([]change, error) {
	settings := cursorFolder(h)
	switch {
	case h.getenv("CURSOR_CONFIG_DIR") != "":
		settings = h.env("CURSOR_CONFIG_DIR")
	case h.getenv("XDG_CONFIG_HOME") != "":
		settings = filepath.Join(h.config(), "cursor")
	}
	cli := filepath.Join(settings, "cli-config.json")
	all := []change{jsonChange{
		place: place{filepath.Join(cursorFolder(h), "mcp.json"), entry}, path: []string{"mcpServers", Key},
		value: server{"stdio", adapter, []string{}, map[string]string{}},
	}}
	for _, tool := range unasked() {
		all = append(all, jsonChange{place: place{cli, narrowing}, path: []string{"permissions", "allow"}, element: true, value: "Mcp(" + Key + ":" + tool + ")"})
	}
	for _, tool := range unasked() {
		all = append(all, jsonChange{
			place: place{filepath.Join(cursorFolder(h), "permissions.json"), narrowing}, path: []string{"mcpAllowlist"}, element: true, value: Key + ":" + tool,
		})
	}
	return all, nil
}

// amp: https://ampcode.com/manual. The first rule of amp.permissions that matches wins; without
// the list, Amp has rules of its own.
func amp(h home, adapter string) ([]change, error) {
	type command struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	type permission struct {
		Tool   string `json:"tool"`
		Action string `json:"action"`
	}
	path := h.env("AMP_SETTINGS_FILE")
	if h.getenv("AMP_SETTINGS_FILE") == "" {
		path = h.pick(filepath.Join(ampFolder(h), "settings.json"), filepath.Join(ampFolder(h), "settings.jsonc"))
	}
	all := []change{jsonChange{place: place{path, entry}, path: []string{"amp.mcpServers", Key}, value: command{adapter, []string{}}}}
	for _, tool := range unasked() {
		all = append(all, jsonChange{
			place: place{path, narrowing}, path: []string{"amp.permissions"}, element: true, first: true,
			value: permission{"mcp__" + Key + "__" + tool, "allow"},
		})
	}
	return all, nil
}
