package promises_test

import (
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/e2e/shipyard"
)

// look is how ship ls shows r/name now.
func (f *fleet) look(t *testing.T, name string) api.Workspace {
	t.Helper()
	w, ok := f.workspaces(t)[name]
	if !ok {
		t.Fatalf("ship ls shows no r/%s", name)
	}
	return w
}

// statusLine is the line of r/name in ship status, with one blank between words.
func (f *fleet) statusLine(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(f.must(t, "status")) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "r/"+name {
			return strings.Join(words, " ")
		}
	}
	t.Fatalf("ship status shows no r/%s", name)
	return ""
}

// runs waits until ship ls shows what r/name's first pane runs.
func (f *fleet) runs(t *testing.T, name, want string) {
	t.Helper()
	got := ""
	if !shows(func() bool {
		if command := f.look(t, name).Observed.PaneCommand; command != nil {
			got = *command
		}
		return got == want
	}) {
		t.Fatalf("ship ls shows that r/%s runs %q, want %q", name, got, want)
	}
}

// A harness whose server did not start, or that waits at a prompt before it starts one, works on
// without tools; an agent that has not registered is none, and not an idle one.
func TestStatusSaysThatNoClientCameAndThenThatNoAgentRegistered(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	f.runs(t, "one", "sleep")
	const silent = "r/one no agent - - sleep runs; no MCP client has come since the session began"
	if got := f.statusLine(t, "one"); got != silent {
		t.Errorf("ship status = %q, want %q", got, silent)
	}
	if w := f.look(t, "one"); w.Agent != nil || w.Observed.MCPSeen == nil || *w.Observed.MCPSeen {
		t.Errorf("ship ls = %+v, want no agent and no client yet", w)
	}
	a := f.harness(t, "one")
	const unregistered = "r/one no agent - - sleep runs; an MCP client came, but no agent_init"
	if got := f.statusLine(t, "one"); got != unregistered {
		t.Errorf("ship status with a client = %q, want %q", got, unregistered)
	}
	if got := a.call(t, "agent_status_get", "{}").ok(t); got != "null" {
		t.Errorf("agent_status_get before agent_init = %s, want null", got)
	}
	a.register(t, "at work")
	if got := f.statusLine(t, "one"); !strings.HasPrefix(got, "r/one building ") || !strings.HasSuffix(got, " at work") {
		t.Errorf("ship status with an agent = %q, want building and at work", got)
	}
}

// saying is a command for a pane that says what is written to the pipe "say" in the workspace, and
// ends with status 3 at "die". Its terminal understands escapes.
const saying = `exec 3<>say; while read -r x <&3; do test "$x" = die && exit 3; printf '%b\n' "$x"; done`

func (f *fleet) say(t *testing.T, name, text string) {
	t.Helper()
	f.shell(t, f.path(name), "printf '%s\\n' '"+text+"' >say")
}

// Spinners, prompts and titles are a harness's own business and change with its versions: what an
// agent reported stands until it reports otherwise. What the ship sees for itself stands beside it.
func TestWhatAPaneShowsNeverChangesWhatItsAgentReported(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/one")
	f.shell(t, f.path("one"), "mkfifo say")
	f.must(t, "activate", "r/one", "--", "sh", "-c", saying)
	a := f.harness(t, "one")
	a.register(t, "may I merge?")
	a.call(t, "agent_status", `{"state":"awaiting","description":"may I merge?"}`).ok(t)
	f.runs(t, "one", "sh")
	before := f.look(t, "one")
	for _, text := range []string{`✳ Working… (esc to interrupt · 44.7k tokens)`, `\033]0;✳ Finished\007❯ `, `Do you want to proceed? 1. Yes`, "> "} {
		f.say(t, "one", text)
	}
	if !shows(func() bool {
		return strings.Contains(f.must(t, "logs", "r/one", "-n", "100"), "Do you want to proceed?")
	}) {
		t.Fatal("nothing was said in the pane: this test sees nothing")
	}
	if !shows(func() bool {
		f.say(t, "one", "still here")
		return f.look(t, "one").Observed.PaneActivityAt.After(*before.Observed.PaneActivityAt)
	}) {
		t.Error("the pane's activity is not seen")
	}
	if now := f.look(t, "one"); *now.Agent != *before.Agent || !now.Observed.LastCallAt.Equal(*before.Observed.LastCallAt) {
		t.Errorf("after all that the pane said the agent is %+v, last call %v; was %+v, %v", now.Agent, now.Observed.LastCallAt, before.Agent, before.Observed.LastCallAt)
	}
	a.call(t, "agent_status_get", "{}").ok(t)
	now := f.look(t, "one")
	if !now.Observed.LastCallAt.After(*before.Observed.LastCallAt) || *now.Agent != *before.Agent {
		t.Errorf("after a call that reports nothing: %+v, last call %v; want a later call and the same report", now.Agent, now.Observed.LastCallAt)
	}
	f.say(t, "one", "die")
	f.runs(t, "one", "exited with status 3")
	if now := f.look(t, "one"); !now.Active || *now.Agent != *before.Agent {
		t.Errorf("after its command died r/one is %+v with %+v, want active and the last report", now, now.Agent)
	}
}

// What an operator opens beside an agent is not the agent, even while the keyboard is there.
func TestASecondPaneIsNotTakenForTheAgents(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/one")
	f.must(t, "activate", "r/one", "--", "sh", "-c", "echo the agent is here; exec sleep 1000")
	f.runs(t, "one", "sleep")
	f.tmux(t, "split-window", "-t", session(t, "one")+":", "echo the operator is here; exec cat")
	f.tmux(t, "new-window", "-t", session(t, "one")+":", "exec cat")
	active := func() string {
		return f.tmux(t, "display-message", "-p", "-t", session(t, "one")+":", "#{pane_current_command}")
	}
	if !shipyard.Poll(func() bool { return active() == "cat" }) {
		t.Fatalf("the session's active pane runs %q, want cat: this test shows nothing", active())
	}
	f.activate(t, "later")
	f.runs(t, "later", "sleep") // so the ship has looked since
	f.runs(t, "one", "sleep")
	if text := f.must(t, "logs", "r/one"); !strings.Contains(text, "the agent is here") || strings.Contains(text, "operator") {
		t.Errorf("ship logs = %q, want the agent's text", text)
	}
}

// A row that says "building" for days after its session has ended would be a lie.
func TestAnEndedSessionHasNoStatusAndItsLastWordsStandInTheEvents(t *testing.T) {
	t.Parallel()
	f, _ := populated(t, "one")
	f.tmux(t, "kill-session", "-t", session(t, "one"))
	f.becomes(t, "one", "session_ended")
	if w := f.look(t, "one"); w.Agent != nil || w.Observed != (api.Observed{}) {
		t.Errorf("ship ls = %+v, want nothing of the ended session", w)
	}
	if got := f.statusLine(t, "one"); got != "r/one inactive - - its session ended" {
		t.Errorf("ship status = %q", got)
	}
	if got := f.must(t, "events", "--workspace", "r/one", "--type", "agent.status"); !strings.Contains(got, "building: unharmed") {
		t.Errorf("ship events = %q, want what the agent said last", got)
	}
}
