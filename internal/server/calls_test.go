package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/api"
)

func TestAnAgentRegistersAndReports(t *testing.T) {
	p := open(t)
	if c := p.call(alpha, "agent_status_get", `{}`); c != (called{"null", false}) {
		t.Errorf("before agent_init: %+v, want null", c)
	}
	early := p.call(alpha, "agent_status", `{"state":"building","description":"x"}`)
	if !early.IsError || !strings.HasPrefix(early.Text, "conflict: ") || !strings.Contains(early.Text, "\nNext: call agent_init") {
		t.Errorf("agent_status before agent_init: %+v", early)
	}
	init := p.call(alpha, "agent_init", `{"model":" m<1> ","provider":"p","harness":"h"}`)
	var first api.AgentStatus
	if err := json.Unmarshal([]byte(init.Text), &first); err != nil || init.IsError {
		t.Fatalf("agent_init: %+v", init)
	}
	if first.Model != "m<1>" || first.State != api.Idle || first.Description != "" || first.Repo != alpha.Repo || first.Workspace != alpha.Name || first.SessionID == "" {
		t.Errorf("agent_init: %+v", first)
	}
	if !strings.HasPrefix(init.Text, "{\n  \"repo\": \"widgets\",\n  \"workspace\": \"main\",\n") || !strings.Contains(init.Text, `"m<1>"`) {
		t.Errorf("not indented by two, or not as written: %s", init.Text)
	}
	report := p.call(alpha, "agent_status", `{"state":"awaiting","description":"merge?"}`)
	get := p.call(alpha, "agent_status_get", `{}`)
	var second api.AgentStatus
	if err := json.Unmarshal([]byte(report.Text), &second); err != nil || report != get {
		t.Fatalf("agent_status %+v, then agent_status_get %+v, want the same", report, get)
	}
	if second.State != api.Awaiting || second.Description != "merge?" || second.SessionID != first.SessionID || second.Model != first.Model {
		t.Errorf("agent_status: %+v", second)
	}
	if c := p.call(beta, "agent_status_get", `{}`); c.Text != "null" {
		t.Errorf("the sibling has %s, want null", c.Text)
	}
}

func TestAWorkspaceWhoseSessionEndsMidCallIsRefused(t *testing.T) {
	p := open(t)
	p.workspaces.saving, p.workspaces.goOn = make(chan struct{}, 1), make(chan struct{})
	answer := make(chan got, 1)
	go func() {
		answer <- p.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_init","arguments":{"model":"m","provider":"p","harness":"h"}}}`)
	}()
	<-p.workspaces.saving
	p.workspaces.deactivate(alpha)
	p.workspaces.goOn <- struct{}{}
	if c := toolAnswer(t, <-answer); !c.IsError || !strings.HasPrefix(c.Text, "conflict: this workspace is not active") {
		t.Errorf("%+v, want a refusal", c)
	}
}

func TestRepositoryToolsSayThatThereIsNoBridge(t *testing.T) {
	p := open(t)
	arguments := map[string]string{
		"repo_info": `{}`, "repo_issue_list": `{"state":"all"}`, "repo_issue_view": `{"number":7}`, "repo_issue_comment": `{"number":7,"body":"x"}`,
		"repo_pr_list": `{}`, "repo_pr_view": `{"number":7,"cursor":"c"}`, "repo_pr_comment": `{"number":7,"body":"x"}`,
		"repo_pr_review": `{"number":7,"event":"APPROVE"}`, "repo_checks": `{"pr":7}`, "repo_failed_logs": `{"ref":"main"}`,
	}
	for name, args := range arguments {
		c := p.call(alpha, name, args)
		if !c.IsError || !strings.HasPrefix(c.Text, "unavailable: no bridge is configured\nNext: ") || !strings.Contains(c.Text, "a person must") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if got, want := slices.Sorted(maps.Keys(arguments)), thirteen[3:]; !slices.Equal(got, want) {
		t.Errorf("called %v, want %v", got, want)
	}
}

func TestTheBridgeGetsCheckedArgumentsInPlainForm(t *testing.T) {
	far := &forge{result: Result{JSON: json.RawMessage(`{"title":"<b> é","n":1}`), RepositoryText: true}}
	p := open(t, func(c *Config) { c.Repository = far })
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repo_issue_view","arguments":{"number":1.0,"number":70e-1,"cursor":"\u0063"}}}`
	g := p.post(beta, body)
	if c := toolAnswer(t, g); c.Text != "{\n  \"title\": \"<b> é\",\n  \"n\": 1\n}" || !strings.Contains(g.body, `"_meta":{"fleet/repository-text":true}`) {
		t.Errorf("%s, want the text indented and marked", g.body)
	}
	p.post(beta, body)
	if len(far.calls) != 2 {
		t.Fatalf("%d calls, want 2", len(far.calls))
	}
	inv := far.calls[0]
	if inv.Workspace != beta || inv.Tool != "repo_issue_view" || string(inv.Arguments) != `{"cursor":"c","number":7}` {
		t.Errorf("the bridge got %+v with %s", inv, inv.Arguments)
	}
	if inv.Key == "" || inv.Key == far.calls[1].Key {
		t.Errorf("keys %q and %q, want one for each call", inv.Key, far.calls[1].Key)
	}
	unmarked := p.post(alpha, statusGet)
	if strings.Contains(unmarked.body, "repository-text") {
		t.Error("text of ours is marked as the repository's")
	}
}

func TestCallIsAnAgentsCallForAnOperator(t *testing.T) {
	p := open(t)
	ctx := t.Context()
	text, isError, err := p.server.Call(ctx, alpha, "agent_status_get", nil)
	if text != "null" || isError || err != nil {
		t.Errorf("Call: %q %t %v", text, isError, err)
	}
	text, isError, err = p.server.Call(ctx, alpha, "agent_status", json.RawMessage(`{"state":"x"}`))
	if want := p.call(alpha, "agent_status", `{"state":"x"}`); text != want.Text || !isError || err != nil {
		t.Errorf("Call: %q %t %v, want %q as an agent gets it", text, isError, err, want.Text)
	}
	if n := len(p.events.of("tool.call")); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	gone := beta
	p.workspaces.deactivate(gone)
	for name, c := range map[string]struct {
		do   func() error
		code api.Code
		hint string
	}{
		"an unknown tool": {func() error { _, _, err := p.server.Call(ctx, alpha, "x", nil); return err }, api.NotFound, "agent_init, agent_status,"},
		"arguments in a list": {func() error {
			_, _, err := p.server.Call(ctx, alpha, "agent_status", json.RawMessage(`[]`))
			return err
		}, api.Invalid, "state"},
		"broken arguments": {func() error {
			_, _, err := p.server.Call(ctx, alpha, "agent_status", json.RawMessage(`{"state"`))
			return err
		}, api.Invalid, "state"},
		"an inactive workspace": {func() error { _, _, err := p.server.Call(ctx, gone, "agent_status_get", nil); return err }, api.Conflict, "ship activate 'widgets/é b'"},
	} {
		var e *api.Error
		if err := c.do(); !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %#v, want %s with %q", name, err, c.code, c.hint)
		}
	}
}

func TestEachCallIsOneEventBeforeItsAnswer(t *testing.T) {
	p := open(t, func(c *Config) {
		c.Repository = &forge{result: Result{JSON: json.RawMessage(`1`)}, delay: 5 * time.Millisecond}
	})
	init := p.call(alpha, "agent_init", `{"model":"m","provider":"p","harness":"secret harness"}`)
	session := p.workspaces.book.Get(alpha).SessionID
	p.call(alpha, "agent_status", `{"state":"x","description":"secret"}`)
	p.call(alpha, "repo_info", `{}`)
	events := p.events.of("tool.call")
	want := []api.Call{
		{Stage: "mcp", Tool: "agent_init", Session: session, Outcome: "ok", Bytes: len(init.Text)},
		{Stage: "mcp", Tool: "agent_status", Session: session, Outcome: "refused"},
		{Stage: "mcp", Tool: "repo_info", Session: session, Outcome: "ok", Bytes: 1},
	}
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d", len(events), len(want))
	}
	for i, e := range events {
		if e.Repo != alpha.Repo || e.Workspace != alpha.Name || e.Stage != "mcp" || e.Tool != want[i].Tool || e.Session != session || e.Outcome != want[i].Outcome {
			t.Errorf("event %d: %+v of %s/%s, want %+v", i, *e.Call, e.Repo, e.Workspace, want[i])
		}
		if want[i].Bytes != 0 && e.Bytes != want[i].Bytes {
			t.Errorf("event %d: %d bytes, want %d", i, e.Bytes, want[i].Bytes)
		}
		if raw, _ := json.Marshal(e); bytes.Contains(raw, []byte("secret")) {
			t.Errorf("event %d holds an argument: %s", i, raw)
		}
	}
	if events[2].MS < 5 {
		t.Errorf("a call of 5 ms is said to have taken %d", events[2].MS)
	}
}

func TestReadsAreAnsweredThoughNothingCanBeLogged(t *testing.T) {
	p := open(t)
	p.events.fail(errors.New("no space left on device"))
	for range 3 {
		if c := p.call(alpha, "agent_status_get", `{}`); c.IsError {
			t.Errorf("a read: %+v", c)
		}
	}
	if c := p.call(alpha, "agent_init", `{"model":"m","provider":"p","harness":"h"}`); !c.IsError || !strings.HasPrefix(c.Text, "unavailable: ") {
		t.Errorf("agent_init: %+v, want a refusal", c)
	}
	if n := strings.Count(p.log.String(), "cannot be logged"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
	p.events.fail(nil)
	p.call(alpha, "agent_status_get", `{}`)
	if !strings.Contains(p.log.String(), "calls are logged again") {
		t.Error("the end of it is not said")
	}
}

// It would show as an MCP client that came and never called agent_init.
func TestACheckIsAnsweredAndNotTakenForAClient(t *testing.T) {
	p := open(t)
	if g := p.post(alpha, statusGet, "Fleet-Check", "1"); g.status != 200 || p.workspaces.seen[alpha] != 0 {
		t.Errorf("a check: %d %s, seen %d times; want an answer and no client", g.status, g.body, p.workspaces.seen[alpha])
	}
	if g := p.post(alpha, statusGet); g.status != 200 || p.workspaces.seen[alpha] != 1 {
		t.Errorf("a client: %d, seen %d times, want once", g.status, p.workspaces.seen[alpha])
	}
}
