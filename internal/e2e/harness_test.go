//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/model"
)

// harnessTime bounds one harness's run. Most take a second or two; opencode takes seven, and several
// times that on a busy machine.
const harnessTime = 180 * time.Second

// key is the name under which every harness has the server registered.
const key = "fleet-agent"

// thirteen are the tools of a workspace without toolsets.
var thirteen = []string{
	"agent_init", "agent_status", "agent_status_get", "repo_checks", "repo_failed_logs",
	"repo_info", "repo_issue_comment", "repo_issue_list", "repo_issue_view", "repo_pr_comment",
	"repo_pr_list", "repo_pr_review", "repo_pr_view",
}

// harness is a real harness, registered in a home of its own and driven by a stand-in for its model.
type harness struct {
	workspace string
	name      string // what its agent calls itself
	home      string
	model     *model.Server
	env       []string // of the program, beside what the workspace's session gives it
	passed    []string // names of the operator's variables that the session must get
	command   []string
}

// newHarness makes the home and the model of a harness that will run in workspace. Without calls
// the model makes agent_init, agent_status and agent_status_get.
func newHarness(t *testing.T, f *fleet, workspace, name string, calls ...model.Call) *harness {
	t.Helper()
	h := &harness{workspace: workspace, name: name, home: mkdir(t, f.dir, "home-"+filepath.Base(workspace))}
	if calls == nil {
		calls = []model.Call{
			begins(name),
			{Tool: "agent_status", Arguments: fmt.Sprintf(`{"state":"building","description":%q}`, h.description())},
			{Tool: "agent_status_get"},
		}
	}
	h.model = model.Start(t, model.Script{Server: key, Calls: calls})
	// The proxy variables make the stand-in see, and stop, whatever would leave the machine.
	h.env = []string{
		"HOME=" + h.home, "TMPDIR=" + mkdir(t, h.home, "tmp"),
		"HTTP_PROXY=" + h.model.URL, "HTTPS_PROXY=" + h.model.URL, "NO_PROXY=127.0.0.1,localhost,::1",
	}
	return h
}

// begins is what every agent of the harness called name calls first.
func begins(name string) model.Call {
	return model.Call{Tool: "agent_init", Arguments: fmt.Sprintf(`{"model":"stand-in","provider":"loopback","harness":%q}`, name)}
}

// description differs from workspace to workspace and holds what quoting could lose.
func (h *harness) description() string {
	return "building é in " + h.workspace + `: "#{x}" $HOME`
}

// newClaude registers Claude Code's server as `claude mcp add` with args does.
func newClaude(t *testing.T, f *fleet, workspace string, args ...string) *harness {
	t.Helper()
	return claudeCalling(t, f, workspace, nil, args...)
}

// claudeCalling is newClaude with a model that makes calls.
func claudeCalling(t *testing.T, f *fleet, workspace string, calls []model.Call, args ...string) *harness {
	t.Helper()
	return claudeProgram(t, f, program(t, "@anthropic-ai/claude-code-linux-*/claude"), workspace, calls, args...)
}

// claudeProgram is claudeCalling with the binary claude.
func claudeProgram(t *testing.T, f *fleet, claude, workspace string, calls []model.Call, args ...string) *harness {
	t.Helper()
	h := newHarness(t, f, workspace, "claude-code", calls...)
	h.env = append(h.env, "ANTHROPIC_BASE_URL="+h.model.URL,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_TMPDIR="+filepath.Join(h.home, "tmp"),
		// Otherwise the tools hide behind a search that the script would have to make.
		"ENABLE_TOOL_SEARCH=false")
	h.passed = []string{"ANTHROPIC_API_KEY"}
	h.register(t, f, append([]string{claude, "mcp", "add", "--scope", "user"}, args...))
	h.command = []string{claude, "-p", "go", "--model", "stand-in", "--allowedTools", "mcp__" + key}
	return h
}

// newCodex registers Codex's server as `codex mcp add` does, with no word about the token or an
// approval: the first must be found, the tools' annotations make the second needless.
func newCodex(t *testing.T, f *fleet, workspace, agentMCP string) *harness {
	t.Helper()
	h := codexHome(t, f, workspace)
	h.register(t, f, []string{h.command[0], "mcp", "add", key, "--", agentMCP})
	return h
}

// program finds an installed harness's binary by its path below node_modules.
func program(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("harness", "node_modules", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: found %q, %v; run internal/e2e/install.sh first", pattern, found, err)
	}
	abs, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func writeFile(t *testing.T, name string, mode os.FileMode, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// register runs the harness's own command that registers a server, outside any workspace.
func (h *harness) register(t *testing.T, f *fleet, command []string) {
	t.Helper()
	f.command(t, "env", slices.Concat([]string{"-C", h.home}, h.env, command)...)
}

// start activates the workspace with the harness as its command. The session outlives the
// harness, as it does when a person wants to look at what was done; it ends with the test.
func (h *harness) start(t *testing.T, f *fleet) {
	t.Helper()
	args := []string{"activate", h.workspace}
	for _, name := range h.passed {
		args = append(args, "--env", name)
	}
	const thenStay = `"$@"; echo $? > "$HOME/.status"; mv "$HOME/.status" "$HOME/status"; exec sleep 600`
	f.ship(t, slices.Concat(args, []string{"--", "env"}, h.env, []string{"sh", "-c", thenStay, "sh"}, h.command)...)
	t.Cleanup(func() { f.ship(t, "deactivate", h.workspace) })
}

// wait returns when the harness has ended well.
func (h *harness) wait(t *testing.T, f *fleet) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("requests to the model: %q\nproblems: %q\nthe session's text:\n%s",
				h.model.Requests(), h.model.Problems(), f.ship(t, "logs", h.workspace, "-n", "200"))
		}
	})
	for deadline := time.Now().Add(harnessTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		code, err := os.ReadFile(filepath.Join(h.home, "status"))
		if err != nil {
			continue
		}
		if got := strings.TrimSpace(string(code)); got != "0" {
			t.Fatalf("%s ended with status %s", h.name, got)
		}
		return
	}
	t.Fatalf("%s did not end within %s", h.name, harnessTime)
}

// check holds what the model saw of the tools against what a bound agent must see.
func (h *harness) check(t *testing.T) {
	t.Helper()
	if got := h.model.Offered(); !slices.Equal(got, thirteen) {
		t.Errorf("%s offered the model %q, want %q", h.name, got, thirteen)
	}
	if got := h.model.Outside(); len(got) > 0 {
		t.Errorf("%s asked for other hosts: %q", h.name, got)
	}
	results := h.model.Results()
	if len(results) != 3 {
		t.Fatalf("%s brought back %d results, want 3: %+v", h.name, len(results), results)
	}
	var seen [3]agentStatus
	for i, r := range results {
		if err := json.Unmarshal([]byte(r.Text), &seen[i]); r.IsError || err != nil {
			t.Fatalf("%s: is an error: %t; as JSON: %v\n%s", r.Tool, r.IsError, err, r.Text)
		}
	}
	if s := seen[0]; s.State != "idle" || s.Description != "" {
		t.Errorf("agent_init answered state %q, description %q; want idle and none", s.State, s.Description)
	}
	h.checkReport(t, "agent_status", &seen[1])
	if seen[2] != seen[1] {
		t.Errorf("agent_status_get answered %+v after agent_status had answered %+v", seen[2], seen[1])
	}
}

// checkReport holds one status, wherever it was read, against what this harness's agent said.
func (h *harness) checkReport(t *testing.T, from string, got *agentStatus) {
	t.Helper()
	if got == nil {
		t.Errorf("%s knows no agent in %s", from, h.workspace)
		return
	}
	if got.SessionID == "" || got.StartedAt.IsZero() || got.UpdatedAt.Before(got.StartedAt) {
		t.Errorf("%s gives session %q from %s to %s", from, got.SessionID, got.StartedAt, got.UpdatedAt)
	}
	repo, name, _ := strings.Cut(h.workspace, "/")
	want := agentStatus{
		Repo: repo, Workspace: name, SessionID: got.SessionID,
		Model: "stand-in", Provider: "loopback", Harness: h.name,
		State: "building", Description: h.description(),
		StartedAt: got.StartedAt, UpdatedAt: got.UpdatedAt,
	}
	if *got != want {
		t.Errorf("%s gives %+v, want %+v", from, *got, want)
	}
}
