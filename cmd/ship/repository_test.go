package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
	"fleet/internal/server"
	"fleet/internal/workspace"
)

type asked struct{ req bridge.Request }

func (a *asked) Do(_ context.Context, r bridge.Request) (json.RawMessage, error) {
	a.req = r
	return json.RawMessage(`{}`), nil
}

type standing struct {
	at  workspace.Position
	err error
}

func (s standing) Position(atlas.ID) (workspace.Position, error) { return s.at, s.err }

func TestAToolAsksTheBridgeForItsOwnWorkspacesRepository(t *testing.T) {
	here := standing{at: workspace.Position{Branch: "work", Commit: "0123456789012345678901234567890123456789"}}
	base := bridge.Request{Repo: "widgets", Workspace: "main", Key: "k"}
	with := func(change func(*bridge.Request)) bridge.Request { r := base; change(&r); return r }
	cases := map[string]struct {
		tool, arguments string
		want            bridge.Request
	}{
		"info":    {"repo_info", `{}`, with(func(r *bridge.Request) { r.Op = bridge.OpInfo })},
		"list":    {"repo_issue_list", `{"state":"all","cursor":"c"}`, with(func(r *bridge.Request) { r.Op, r.State, r.Cursor = bridge.OpIssueList, "all", "c" })},
		"comment": {"repo_pr_comment", `{"number":7,"body":"b"}`, with(func(r *bridge.Request) { r.Op, r.Number, r.Body = bridge.OpPRComment, 7, "b" })},
		"review":  {"repo_pr_review", `{"number":7,"event":"APPROVE"}`, with(func(r *bridge.Request) { r.Op, r.Number, r.Event = bridge.OpPRReview, 7, "APPROVE" })},
		"pull":    {"repo_checks", `{"pr":3}`, with(func(r *bridge.Request) { r.Op, r.Target = bridge.OpChecks, api.Target{Pull: 3} })},
		"ref":     {"repo_failed_logs", `{"ref":"v1"}`, with(func(r *bridge.Request) { r.Op, r.Target = bridge.OpFailedLogs, api.Target{Ref: "v1"} })},
		"branch": {"repo_checks", `{}`, with(func(r *bridge.Request) {
			r.Op, r.Target = bridge.OpChecks, api.Target{Branch: here.at.Branch, SHA: here.at.Commit}
		})},
	}
	for name, c := range cases {
		far := &asked{}
		r := &repository{bridge: far, positions: here}
		_, err := r.Call(t.Context(), server.Invocation{Workspace: atlas.ID{Repo: "widgets", Name: "main"}, Tool: c.tool, Arguments: json.RawMessage(c.arguments), Key: "k"})
		if err != nil || far.req != c.want {
			t.Errorf("%s: asked %+v, %v; want %+v", name, far.req, err, c.want)
		}
	}
}

func TestADetachedHeadReachesTheAgentAndNotTheBridge(t *testing.T) {
	far := &asked{}
	want := &api.Error{Code: api.Conflict, Reason: "detached_head"}
	r := &repository{bridge: far, positions: standing{err: want}}
	_, err := r.Call(t.Context(), server.Invocation{Tool: "repo_checks", Arguments: json.RawMessage(`{}`)})
	if !errors.Is(err, want) || far.req.Op != "" {
		t.Errorf("Call = %v after asking %+v, want the refusal and no question", err, far.req)
	}
}
