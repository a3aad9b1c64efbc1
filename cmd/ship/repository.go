package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/bridge"
	"fleet/internal/server"
	"fleet/internal/workspace"
)

// repository puts the repo_* tools on a bridge. It is where the two halves meet: the server's
// side knows the workspace, the bridge's side the forge, and neither the other.
type repository struct {
	bridge    bridge.Caller
	positions interface {
		Position(id atlas.ID) (workspace.Position, error)
	}
}

// arguments are those of all ten tools; each tool's schema has let through only its own.
type arguments struct {
	Number int    `json:"number"`
	State  string `json:"state"`
	Body   string `json:"body"`
	Event  string `json:"event"`
	Pull   int    `json:"pr"`
	Ref    string `json:"ref"`
	Cursor string `json:"cursor"`
}

// Call asks the bridge what the tool asks, of the workspace's own repository.
func (r *repository) Call(ctx context.Context, inv server.Invocation) (server.Result, error) {
	var args arguments
	if err := json.Unmarshal(inv.Arguments, &args); err != nil {
		return server.Result{}, fmt.Errorf("read the arguments of %s: %w", inv.Tool, err)
	}
	op, ok := strings.CutPrefix(inv.Tool, "repo_")
	if !ok {
		return server.Result{}, fmt.Errorf("%s is no tool of the repository", inv.Tool)
	}
	req := bridge.Request{
		Op: op, Repo: inv.Workspace.Repo, Workspace: inv.Workspace.Name, Key: inv.Key,
		Number: args.Number, State: args.State, Cursor: args.Cursor, Body: args.Body, Event: args.Event,
	}
	if op == bridge.OpChecks || op == bridge.OpFailedLogs {
		target, err := r.target(inv.Workspace, args)
		if err != nil {
			return server.Result{}, err
		}
		req.Target = target
	}
	raw, err := r.bridge.Do(ctx, req)
	if err != nil {
		return server.Result{}, err
	}
	return server.Result{JSON: raw, RepositoryText: true}, nil
}

// target is what the agent named, else the branch that the workspace's files say it is on.
func (r *repository) target(id atlas.ID, args arguments) (api.Target, error) {
	if args.Pull != 0 || args.Ref != "" {
		return api.Target{Pull: args.Pull, Ref: args.Ref}, nil
	}
	at, err := r.positions.Position(id)
	if err != nil {
		return api.Target{}, err
	}
	return api.Target{Branch: at.Branch, SHA: at.Commit}, nil
}
