package promises_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fleet/api"
)

// status is what agent_status_get tells over HTTP, with a token read before.
func (f *fleet) status(t *testing.T, path, token string) string {
	t.Helper()
	r := f.http(t, ask{path: path, token: token, body: call("1", "agent_status_get", "{}")})
	if r.status != http.StatusOK {
		t.Fatalf("agent_status_get = %d %s", r.status, r.body)
	}
	return parse(t, r.body).ok(t)
}

func withoutLocale(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "LANG=") || strings.HasPrefix(entry, "LC_")
	})
}

func TestACrashOfTheShipIsInvisibleToItsAgents(t *testing.T) {
	t.Parallel()
	const name, path = "é b", "/workspaces/r/%C3%A9%20b/mcp"
	description := `say "hi" and 'bye' to #{pane_id} #(id) $HOME \ %1 ; é`
	f := serving(t)
	f.activate(t, name, "plain")
	a := f.harness(t, name)
	a.register(t, description)
	tok := f.token(t, name)
	before := f.status(t, path, tok)
	var status api.AgentStatus
	if err := json.Unmarshal([]byte(before), &status); err != nil || status.Description != description || status.Workspace != name {
		t.Fatalf("agent_status_get = %s, %v, want the description %q", before, err, description)
	}
	bare := withoutLocale(f.env)
	for i := range 5 {
		f.daemon.Kill(t)
		id := fmt.Sprint(i)
		a.send(t, call(id, "agent_status_get", "{}")) // nobody is there to hear it
		f.serve(t, bare...)
		if m := a.answer(t); string(m.ID) != id || m.ok(t) != before {
			t.Errorf("restart %d: the call made while the ship was down was answered with %s, want id %s and %s", i, m.raw, id, before)
		}
		if got := f.status(t, path, tok); got != before {
			t.Errorf("restart %d: agent_status_get with the token from before = %s, want %s", i, got, before)
		}
		if got := a.call(t, "agent_status_get", "{}").ok(t); got != before {
			t.Errorf("restart %d: agent_status_get through the running adapter = %s, want %s", i, got, before)
		}
		if now := f.token(t, name); now != tok {
			t.Errorf("restart %d: the session has another token", i)
		}
		for _, ws := range []string{name, "plain"} {
			if got := f.state(t, ws); got != "active" {
				t.Errorf("restart %d: ship ls shows %s as %q, want active", i, ws, got)
			}
		}
	}
	if adopted := strings.Count(f.must(t, "events", "--type", "workspace.adopted", "--json"), `"workspace.adopted"`); adopted != 10 {
		t.Errorf("%d workspace.adopted events, want one for each of two sessions and five restarts", adopted)
	}
}

// A graceful end is no different.
func TestCallsMadeWhileTheShipIsDownAreAllAnswered(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	a.register(t, "before")
	f.daemon.Stop(t)
	want := map[string]bool{}
	for i := range 20 {
		id := fmt.Sprint(i)
		want[id] = true
		a.send(t, call(id, "agent_status_get", "{}"))
	}
	f.serve(t)
	for range 20 {
		m := a.answer(t)
		if !want[string(m.ID)] || !strings.Contains(m.ok(t), `"description": "before"`) {
			t.Errorf("%s is an answer to none of the calls, or the second to one, or not the status", m.raw)
		}
		delete(want, string(m.ID))
	}
	if code, rest := a.end(t); code != 0 || len(rest) > 0 {
		t.Errorf("agent-mcp ended with %d and %q more, want 0 and nothing", code, rest)
	}
}
