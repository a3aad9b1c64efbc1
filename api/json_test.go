package api_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"fleet/api"
)

func at(minute int) time.Time { return time.Date(2026, 7, 28, 12, minute, 0, 0, time.UTC) }

func status() *api.AgentStatus {
	return &api.AgentStatus{
		Repo: "r", Workspace: "w", SessionID: "s", Model: "m", Provider: "p", Harness: "h",
		State: api.Building, Description: "d", StartedAt: at(1), UpdatedAt: at(2),
	}
}

const statusJSON = `{"repo":"r","workspace":"w","session_id":"s","model":"m","provider":"p","harness":"h",` +
	`"state":"building","description":"d","started_at":"2026-07-28T12:01:00Z","updated_at":"2026-07-28T12:02:00Z"}`

// The names are what scripts, dashboards and older logs rely on.
func TestFieldNamesNeverChange(t *testing.T) {
	text, yes, minute := "x", true, at(3)
	cases := map[string]struct {
		value any
		want  string
		whole bool // every field is set, so that a new one cannot stay unseen
	}{
		"agent status": {status(), statusJSON, true},
		"workspace": {
			api.Workspaces{Workspaces: []api.Workspace{{
				Repo: "r", Name: "w", Path: "/a/r/w", Active: true, InactiveReason: &text, Branch: &text, Head: &text, Agent: status(),
				Observed: api.Observed{PaneCommand: &text, PaneActivityAt: &minute, LastCallAt: &minute, MCPSeen: &yes},
			}}},
			`{"workspaces":[{"repo":"r","name":"w","path":"/a/r/w","active":true,"inactive_reason":"x","branch":"x","head":"x","agent":` + statusJSON +
				`,"observed":{"pane_command":"x","pane_activity_at":"2026-07-28T12:03:00Z","last_call_at":"2026-07-28T12:03:00Z","mcp_seen":true}}]}`,
			true,
		},
		"workspace of which nothing is known": {
			api.Workspace{},
			`{"repo":"","name":"","path":"","active":false,"inactive_reason":null,"branch":null,"head":null,"agent":null,` +
				`"observed":{"pane_command":null,"pane_activity_at":null,"last_call_at":null,"mcp_seen":null}}`,
			false,
		},
		"event": {
			api.Event{
				ID: "i", Time: at(0), Type: api.ToolCalled, Repo: "r", Workspace: "w", Reason: "x", Agent: status(), Replaced: status(),
				Call: &api.Call{Stage: "mcp", Tool: "t", Session: "s", Outcome: api.OutcomeOK, MS: 3, Bytes: 4},
			},
			`{"id":"i","time":"2026-07-28T12:00:00Z","type":"tool.call","repo":"r","workspace":"w","reason":"x","agent":` + statusJSON +
				`,"replaced":` + statusJSON + `,"stage":"mcp","tool":"t","session":"s","outcome":"ok","ms":3,"bytes":4}`,
			true,
		},
		"event without more": {
			api.Event{ID: "i", Time: at(0), Type: api.ShipStarted},
			`{"id":"i","time":"2026-07-28T12:00:00Z","type":"ship.started"}`,
			false,
		},
		"call of nobody": {
			api.Event{ID: "i", Time: at(0), Type: api.ToolCalled, Call: &api.Call{}},
			`{"id":"i","time":"2026-07-28T12:00:00Z","type":"tool.call","stage":"","tool":"","outcome":"","ms":0,"bytes":0}`,
			false,
		},
		"error": {
			api.Error{Code: api.Conflict, Reason: "r", Message: "m", Hint: "h", RetryAfterSeconds: 5},
			`{"code":"conflict","reason":"r","message":"m","hint":"h","retry_after_seconds":5}`,
			false, // Err stays here
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(c.value)
			if string(raw) != c.want || err != nil {
				t.Errorf("as JSON\n%s (%v), want\n%s", raw, err, c.want)
			}
			back := reflect.New(reflect.TypeOf(c.value))
			if err := json.Unmarshal(raw, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), c.value) {
				t.Errorf("read back %+v (%v), want %+v", back.Elem(), err, c.value)
			}
			if c.whole {
				expectWhole(t, name, reflect.ValueOf(c.value))
			}
		})
	}
}

// expectWhole wants every field below v to be set.
func expectWhole(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		t.Errorf("%s is not set in this test", path)
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		expectWhole(t, path, v.Elem())
	case v.Kind() == reflect.Slice:
		expectWhole(t, path+"[0]", v.Index(0))
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			expectWhole(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

func TestTheFiveStates(t *testing.T) {
	want := []api.State{"idle", "planning", "building", "verifying", "awaiting"}
	if got := api.States(); !reflect.DeepEqual(got, want) {
		t.Errorf("States() = %q, want %q", got, want)
	}
}

func TestEventTypesNeverChange(t *testing.T) {
	want := []string{
		"ship.started", "ship.stopped", "workspace.created", "workspace.activated", "workspace.adopted", "workspace.deactivated",
		"workspace.removed", "token.rotated", "agent.init", "agent.status", "tool.call", "auth.refused",
	}
	got := []string{
		api.ShipStarted, api.ShipStopped, api.WorkspaceCreated, api.WorkspaceActivated, api.WorkspaceAdopted, api.WorkspaceDeactivated,
		api.WorkspaceRemoved, api.TokenRotated, api.AgentInitialized, api.AgentReported, api.ToolCalled, api.AuthRefused,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("event types %q, want %q", got, want)
	}
}
