package promises_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/e2e/shipyard"
)

func statusOf(t *testing.T, text string) api.AgentStatus {
	t.Helper()
	var s api.AgentStatus
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%q is no AgentStatus: %v", text, err)
	}
	return s
}

// deactivations gives the reasons of a workspace's workspace.deactivated events.
func (f *fleet) deactivations(t *testing.T, name string) []string {
	t.Helper()
	var reasons []string
	for line := range strings.Lines(f.stateFile(t, "events.jsonl")) {
		var e api.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("event %q: %v", line, err)
		}
		if e.Type == api.WorkspaceDeactivated && e.Workspace == name {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

func TestASessionEndedByHandTakesItsTokenWithIt(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	a := f.harness(t, "one")
	a.register(t, "soon gone")
	one, two := f.token(t, "one"), f.token(t, "two")
	f.tmux(t, "kill-session", "-t", session(t, "one"))
	if !shipyard.Poll(func() bool { return !f.opens(t, "one", one) }) {
		t.Fatal("the token of a session that was killed by hand still opens its workspace")
	}
	f.becomes(t, "one", "session_ended")
	if w := f.workspaces(t)["one"]; w.Agent != nil || w.Active {
		t.Errorf("ship ls shows %+v, want neither active nor an agent", w)
	}
	if got := f.deactivations(t, "one"); len(got) != 1 || got[0] != "session_ended" {
		t.Errorf("workspace.deactivated has the reasons %q, want session_ended once", got)
	}
	if !f.opens(t, "two", two) || f.state(t, "two") != "active" {
		t.Error("the sibling's token opens nothing any more")
	}
	if m := a.ask(t, call("1", "agent_status_get", "{}")); m.Error == nil || !strings.Contains(m.Error.Message, "ship activate r/one") {
		t.Errorf("its adapter answers %s, want an error that says ship activate r/one", m.raw)
	}
	// A new session is a new agent's: nothing of the old one comes back.
	f.must(t, "activate", "r/one", "--", "sleep", "1000")
	if got := a.call(t, "agent_status_get", "{}").ok(t); got != "null" {
		t.Errorf("agent_status_get in the new session = %s, want null", got)
	}
	if f.opens(t, "one", one) {
		t.Error("the token of the ended session opens the new one")
	}
}

func TestASessionThatEndsByItselfTakesItsTokenWithIt(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/one")
	f.must(t, "activate", "r/one")
	one := f.token(t, "one")
	f.tmux(t, "send-keys", "-t", session(t, "one")+":", "exit", "Enter")
	f.becomes(t, "one", "session_ended")
	if f.opens(t, "one", one) {
		t.Error("the token of a session whose shell has ended still opens its workspace")
	}
}

func TestDeactivateRevokesAtOnce(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	one, two := f.token(t, "one"), f.token(t, "two")
	f.must(t, "deactivate", "r/one")
	if f.opens(t, "one", one) {
		t.Error("after ship deactivate the token opens its workspace")
	}
	if got := f.state(t, "one"); got != "command" {
		t.Errorf("ship ls shows %q, want command", got)
	}
	if got := f.deactivations(t, "one"); len(got) != 1 || got[0] != "command" {
		t.Errorf("workspace.deactivated has the reasons %q, want command once", got)
	}
	if !f.opens(t, "two", two) {
		t.Error("the sibling's token opens nothing any more")
	}
	f.must(t, "activate", "r/one", "--", "sleep", "1000")
	if f.opens(t, "one", one) || !f.opens(t, "one", f.token(t, "one")) {
		t.Error("after another activation the old token opens something, or the new one nothing")
	}
}
