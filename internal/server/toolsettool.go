package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// killGrace is what a toolset has left after a call's end to kill the command and to say so: it
// takes a second at most.
const killGrace = 1500 * time.Millisecond

// CheckToolset says why a ship could not serve set's tools, though the toolset itself is well made.
func CheckToolset(set *toolset.Toolset) error {
	_, err := declaredTools("", set)
	return err
}

// declaredTools makes set's tools ready to stand beside our own. root is the atlas's real path.
func declaredTools(root string, set *toolset.Toolset) ([]*tool, error) {
	var tools []*tool
	for _, shown := range set.Tools() {
		definition, err := json.Marshal(shown)
		if err != nil {
			return nil, fmt.Errorf("write the definition of %s: %w", shown.Name, err)
		}
		ready, err := newTool(Tool{Definition: definition, Run: declaredRun(root, set), declared: true})
		if err != nil {
			return nil, err
		}
		ready.shown.Title, ready.shown.RawOutputSchema = shown.Title, shown.OutputSchema
		tools = append(tools, ready)
	}
	return tools, nil
}

// declaredRun runs a tool's command in the workspace that the caller's token opens.
func declaredRun(root string, set *toolset.Toolset) func(context.Context, Invocation) (Result, error) {
	return func(ctx context.Context, inv Invocation) (Result, error) {
		place, err := placeOf(root, inv.Workspace)
		if err != nil {
			return Result{}, err
		}
		answered := set.Call(ctx, place, inv.Tool, inv.Arguments)
		return Result{declared: &answered}, nil
	}
}

// placeOf is the folder of a workspace. It is looked at anew for each call: an agent may have put a
// link to its neighbour's in its place.
func placeOf(root string, id atlas.ID) (toolset.Place, error) {
	if err := atlas.CheckWorkspace(root, id); err != nil {
		return toolset.Place{}, &api.Error{
			Code: api.Unavailable, Reason: "no_workspace", Message: "this workspace's folder is no longer a checkout, so nothing was run",
			Hint: "tell a person", Err: err,
		}
	}
	return toolset.Place{Dir: id.Dir(root)}, nil
}

// finishDeclared makes what the client is told of what a toolset answered, which is bounded already.
func (s *Server) finishDeclared(inv Invocation, answered *toolset.Result) outcome {
	if answered.Err != nil {
		s.config.Logger.Warn("a toolset's command failed", "tool", inv.Tool, "request", inv.Key, "err", answered.Err)
	}
	done := outcome{text: strings.Join(answered.Text, "\n"), isError: answered.IsError, declared: answered}
	for _, text := range answered.Text {
		done.content = append(done.content, mcp.TextContent{Type: "text", Text: text})
	}
	return done
}

// members are what a toolset's result has beside content: of _meta, and of the result itself.
func members(answered *toolset.Result) (meta, result []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(answered.Meta)) {
		value, err := json.Marshal(answered.Meta[key])
		if err != nil {
			return nil, nil, err
		}
		meta = append(meta, strconv.Quote(key)+":"+string(value))
	}
	if answered.Structured != nil {
		result = append(result, `"structuredContent":`+string(answered.Structured))
	}
	return meta, result, nil
}
