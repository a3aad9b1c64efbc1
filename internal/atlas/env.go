package atlas

import (
	"fmt"
	"slices"
	"strings"
)

// The variables that the ship puts into a workspace's session. The URL is no secret.
const (
	TokenVariable = "FLEET_AGENT_MCP_TOKEN"
	URLVariable   = "FLEET_AGENT_MCP_URL"
)

// CheckEnvName says why a variable cannot be named to reach a pane: it is no variable's name,
// it is Fleet's own, it is a forge's token, it would give a harness the identity of another, or
// it would lead an agent's tmux to somebody else's server.
func CheckEnvName(name string) error {
	switch {
	case name == "" || strings.ContainsFunc(name, notInName) || name[0] >= '0' && name[0] <= '9':
		return fmt.Errorf("%q is not a variable's name", name)
	case strings.HasPrefix(name, "FLEET_"):
		return fmt.Errorf("%s is Fleet's own and cannot be passed on", name)
	case IsForgeToken(name):
		return fmt.Errorf("%s is a forge's credential; only the bridge holds those", name)
	case slices.Contains(identities(), name):
		return fmt.Errorf("%s tells a harness or a terminal who it is and cannot be passed on", name)
	}
	return nil
}

func notInName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// IsForgeToken says that a variable of this name holds a forge's credential.
func IsForgeToken(name string) bool { return slices.Contains(forgeTokens(), name) }

// forgeTokens lists the variables that hold forge credentials, for Fleet's bridge and for the
// forges' own programs.
func forgeTokens() []string {
	return []string{
		"GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN",
		"GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN", "GITEA_TOKEN", "GITEA_SERVER_TOKEN", "FORGEJO_TOKEN",
		"CODEBERG_TOKEN", "GITHUB_PAT", "GITHUB_PERSONAL_ACCESS_TOKEN", "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN",
	}
}

func identities() []string {
	return []string{
		"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR",
		"AI_AGENT", "AGENT", "OPENCODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "COPILOT_AGENT_SESSION_ID", "GEMINI_CLI",
		"CURSOR_AGENT", "TMUX", "TMUX_PANE", "TMUX_TMPDIR",
	}
}
