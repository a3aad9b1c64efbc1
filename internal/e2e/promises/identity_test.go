package promises_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/e2e/shipyard"
)

// dumped opens a window in r/name's session and gives the environment of what runs there.
func (f *fleet) dumped(t *testing.T, name string) []string {
	t.Helper()
	f.tmux(t, "new-window", "-c", f.path(name), "-t", session(t, name)+":", "env -0 >dump.new; mv dump.new dump.txt; exec sleep 1000")
	path := filepath.Join(f.path(name), "dump.txt")
	var raw []byte
	if !shipyard.Poll(func() bool { var err error; raw, err = os.ReadFile(path); return err == nil }) {
		t.Fatalf("a window of r/%s wrote no environment", name)
	}
	return strings.Split(string(raw), "\x00")
}

// tmux's default is to take variables over from whoever attaches.
func TestAttachingChangesNothingInASessionsEnvironment(t *testing.T) {
	t.Parallel()
	f := serving(t, "DISPLAY=:1")
	f.activate(t, "one")
	before := f.sessionEnv(t, "one")
	operator := startOperatorsTmux(t, f.mkdir(t, "o"))
	args := []string{"new-session", "-d", "-s", "attach"}
	for _, v := range []string{"DISPLAY=:77", "SSH_AUTH_SOCK=/elsewhere", "SSH_CONNECTION=elsewhere", "FLEET_AGENT_MCP_TOKEN=fleet_elsewhere", "TERM=screen"} {
		args = append(args, "-e", v)
	}
	if out, err := operator.run(append(args, shipyard.Built("ship")+" --atlas "+f.root+" attach r/one")...); err != nil {
		t.Fatalf("start ship attach: %v: %s", err, out)
	}
	if !shipyard.Poll(func() bool { return f.tmux(t, "list-clients", "-t", session(t, "one")) != "" }) {
		said, _ := operator.run("capture-pane", "-p", "-t", "attach:")
		t.Fatalf("ship attach shows no session: %s", said)
	}
	if after := f.sessionEnv(t, "one"); !maps.Equal(after, before) {
		t.Errorf("the session's environment is %v after ship attach, was %v", after, before)
	}
	env := f.dumped(t, "one")
	for name, value := range before {
		if !slices.Contains(env, name+"="+value) {
			t.Errorf("a window that was opened after ship attach lacks the session's %s", name)
		}
	}
	for _, kv := range env {
		if strings.Contains(kv, "elsewhere") || kv == "DISPLAY=:77" {
			t.Errorf("a window that was opened after ship attach has %s", kv)
		}
	}
}

// A ship may be started by an agent, or from a shell in a session: nothing of that one's identity
// may reach another's.
func TestAShipStartedInsideASessionGivesNothingOfItToOthers(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	inside := append(
		f.paneEnv(t, "one"), "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=ones", "CLAUDE_PROJECT_DIR="+f.path("one"), "AI_AGENT=ones",
		"OPENCODE=1", "COPILOT_AGENT_SESSION_ID=ones", "GEMINI_CLI=1", "TMUX=/ones/socket,1,0", "TMUX_PANE=%0",
	)
	foreign := f.sessionEnv(t, "one")
	f.daemon.Stop(t)
	f.tmux(t, "kill-server")
	f.serve(t, inside...)
	f.activate(t, "two")
	if f.token(t, "two") == foreign["FLEET_AGENT_MCP_TOKEN"] {
		t.Error("r/two has the token of r/one")
	}
	env := f.dumped(t, "two")
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.Contains(value, "ones") || foreign[name] == value && value != "" && name != "LANG" {
			t.Errorf("r/two has %s of r/one's session: %s", name, value)
		}
		if slices.Contains([]string{"CLAUDECODE", "CLAUDE_PROJECT_DIR", "AI_AGENT", "OPENCODE", "GEMINI_CLI"}, name) {
			t.Errorf("r/two has %s=%s", name, value)
		}
	}
	if f.opens(t, "two", foreign["FLEET_AGENT_MCP_TOKEN"]) || f.opens(t, "one", foreign["FLEET_AGENT_MCP_TOKEN"]) {
		t.Error("the token of an ended session opens something because the ship was started with it")
	}
}

// Whoever calls from a workspace is its agent, a subagent too: there is one status, and who took
// it over from whom is told.
func TestASecondAgentInAWorkspaceReplacesTheFirstForAllToSee(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	first, second := f.harness(t, "one"), f.harness(t, "one")
	first.register(t, "mine")
	was := statusOf(t, first.call(t, "agent_status_get", "{}").ok(t))
	second.call(t, "agent_init", `{"model":"m2","provider":"p2","harness":"h2"}`).ok(t)
	now := statusOf(t, first.call(t, "agent_status_get", "{}").ok(t))
	if now.Model != "m2" || now.State != api.Idle || now.Description != "" || now.SessionID == was.SessionID {
		t.Errorf("after another agent's agent_init the first reads %+v, want the other's", now)
	}
	var last api.Event
	for line := range strings.Lines(f.stateFile(t, "events.jsonl")) {
		var e api.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("event %q: %v", line, err)
		}
		if e.Type == api.AgentInitialized {
			last = e
		}
	}
	if last.Replaced == nil || *last.Replaced != was || last.Agent == nil || last.Agent.SessionID != now.SessionID {
		t.Errorf("the last agent.init is %+v, replacing %+v; want it to name both agents", last.Agent, last.Replaced)
	}
	if got := f.must(t, "events", "--type", "agent.init"); !strings.Contains(got, "h2, m2 (p2)") {
		t.Errorf("ship events = %q, want who registered", got)
	}
}

// A pane's first command is remembered by tmux for as long as it lives, for ps and for formats.
func TestNoSecretStandsInWhatTmuxShowsOfAPane(t *testing.T) {
	t.Parallel()
	f := serving(t, "PROMISE_SECRET=shown-nowhere-4711")
	f.must(t, "create", "r/one")
	f.must(t, "activate", "r/one", "--env", "PROMISE_SECRET", "--", "sleep", "1000")
	f.must(t, "create", "r/two")
	f.must(t, "activate", "r/two", "--env", "PROMISE_SECRET")
	shown := f.tmux(t, "list-panes", "-a", "-F", "#{pane_start_command}|#{pane_title}|#{window_name}|#{session_name}|#{pane_current_path}|#{default-command}|#{status-left}")
	shown += f.tmux(t, "show-environment", "-g") + f.tmux(t, "show-options", "-g") + f.tmux(t, "show-options", "-s")
	if !strings.Contains(shown, "sleep") {
		t.Fatalf("tmux shows %q, want the command: this test sees nothing", shown)
	}
	for _, secret := range []string{f.token(t, "one"), f.token(t, "two"), "shown-nowhere-4711"} {
		if strings.Contains(shown, secret) {
			t.Errorf("a secret stands in what tmux shows of all panes: %q", shown)
		}
	}
}

// harnessHomes are what the installer takes for signs of a harness.
func harnessHomes() []string {
	return []string{".claude", ".codex", ".gemini", ".config/opencode", ".copilot", ".cursor", ".config/amp"}
}

// An agent may register the harnesses, from a session in which its own token stands.
func TestRegisteringAHarnessWritesNoToken(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	for _, home := range harnessHomes() {
		f.mkdir(t, "home", home)
	}
	home := filepath.Join(f.dir, "home")
	env := append(f.paneEnv(t, "one"), "HOME="+home)
	text := ""
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "copilot", "cursor", "amp"} {
		for _, args := range [][]string{{"harness", "install", name, "--dry-run"}, {"harness", "install", name}, {"harness", "print", name}} {
			c := f.command(shipyard.Built("ship"), args...)
			c.Env = env
			r := f.run(t, c)
			if r.code != 0 {
				t.Errorf("ship %q = %d: %s", args, r.code, r.stderr)
			}
			text += r.stdout + r.stderr
		}
	}
	written := f.shell(t, home, "find . -type f -exec cat {} +")
	if n := strings.Count(written, "fleet-agent"); n < 7 {
		t.Errorf("the seven harnesses' files name fleet-agent %d times: this test sees too little", n)
	}
	if tok := f.token(t, "one"); strings.Contains(written+text, tok) || strings.Contains(written, "fleet_") {
		t.Errorf("a token was written down, or printed, when harnesses were registered")
	}
}
