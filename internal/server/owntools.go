package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"fleet/api"
	"fleet/internal/atlas"
)

// ownTools are Fleet's thirteen.
func (s *Server) ownTools() ([]Tool, error) {
	agents := map[string]Tool{
		"agent_init":       {Run: s.agentInit, trimmed: true},
		"agent_status":     {Run: s.agentStatus, trimmed: true},
		"agent_status_get": {Run: s.agentStatusGet, instant: true},
	}
	repository := []string{
		"repo_info", "repo_issue_list", "repo_issue_view", "repo_issue_comment", "repo_pr_list",
		"repo_pr_view", "repo_pr_comment", "repo_pr_review", "repo_checks", "repo_failed_logs",
	}
	for _, name := range repository {
		agents[name] = Tool{Run: s.repository}
	}
	var tools []Tool
	for name, t := range agents {
		var err error
		if t.Definition, err = definition(name); err != nil {
			return nil, fmt.Errorf("read the definition of %s: %w", name, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func (s *Server) agentInit(ctx context.Context, inv Invocation) (Result, error) {
	var in struct{ Model, Provider, Harness string }
	if err := json.Unmarshal(inv.Arguments, &in); err != nil {
		return Result{}, err
	}
	return statusResult(s.config.Workspaces.Agents().Init(ctx, inv.Workspace, in.Model, in.Provider, in.Harness))
}

func (s *Server) agentStatus(ctx context.Context, inv Invocation) (Result, error) {
	var in struct {
		State       api.State
		Description string
	}
	if err := json.Unmarshal(inv.Arguments, &in); err != nil {
		return Result{}, err
	}
	return statusResult(s.config.Workspaces.Agents().Report(ctx, inv.Workspace, in.State, in.Description))
}

// statusText is a status as agent_status_get shows it. The Book never changes a status, it puts
// another in its place, so the pointer tells whether the text is still right.
type statusText struct {
	of   *api.AgentStatus
	text string
}

func (s *Server) agentStatusGet(_ context.Context, inv Invocation) (Result, error) {
	status := s.config.Workspaces.Agents().Get(inv.Workspace)
	if known, ok := s.statusTexts.Load(inv.Workspace); ok && known.(statusText).of == status {
		return Result{indented: known.(statusText).text}, nil
	}
	result, err := statusResult(status, nil)
	if err != nil {
		return Result{}, err
	}
	text, err := indent(result.JSON)
	if err != nil {
		return Result{}, err
	}
	if status != nil {
		s.statusTexts.Store(inv.Workspace, statusText{status, text})
	}
	return Result{indented: text}, nil
}

func statusResult(status *api.AgentStatus, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // a person or a model reads it, not a browser
	if err := e.Encode(status); err != nil {
		return Result{}, err
	}
	return Result{JSON: bytes.TrimSpace(out.Bytes())}, nil
}

// repository hands a call on to the bridge, if there is one.
func (s *Server) repository(ctx context.Context, inv Invocation) (Result, error) {
	var target struct {
		PR  json.RawMessage `json:"pr"`
		Ref json.RawMessage `json:"ref"`
	}
	if err := json.Unmarshal(inv.Arguments, &target); err != nil {
		return Result{}, err
	}
	if target.PR != nil && target.Ref != nil {
		return Result{}, &api.Error{
			Code: api.Invalid, Reason: "two_targets", Message: "pr and ref are two targets; pass at most one",
			Hint: "call " + inv.Tool + " again with pr, with ref, or with neither for the workspace's current branch",
		}
	}
	if s.config.Repository == nil {
		return Result{}, &api.Error{
			Code: api.Unavailable, Reason: "no_bridge", Message: "no bridge is configured",
			Hint: "go on without the forge; a person must give this ship a bridge",
		}
	}
	return s.config.Repository.Call(ctx, inv)
}

func inactive(id atlas.ID) error {
	return &api.Error{
		Code: api.Conflict, Reason: "inactive", Message: "this workspace is not active",
		Hint: "a person must run: ship activate " + id.Shell(),
	}
}
