package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// Tool is one tool behind the door.
type Tool struct {
	// Definition is the tool as tools/list shows it: name, description, inputSchema (JSON
	// Schema 2020-12, with additionalProperties false) and all four annotations. A tool whose
	// readOnlyHint is false is a write.
	Definition json.RawMessage
	// Run answers one call. It need not recover, format, cut or log.
	Run func(ctx context.Context, inv Invocation) (Result, error)

	instant  bool // answers from memory, so needs no deadline
	declared bool // is of a toolset
	trimmed  bool // its texts mean the same without blanks around them, which do not count
}

// Invocation is one call of a tool.
type Invocation struct {
	Workspace atlas.ID
	Tool      string
	// Arguments is an object that satisfies the tool's schema; its integers are in plain digits.
	Arguments json.RawMessage
	// Key is a UUIDv7, new with every call that came in: a write's idempotency key. The ids of
	// MCP requests are none, since a harness counts from 0 after each start.
	Key string
}

// Result is what a tool answers.
type Result struct {
	JSON           json.RawMessage // shown to the agent as one text item, indented
	RepositoryText bool            // part of it was written by whoever writes in the repository or the forge
	Content        []mcp.Content   // where set, sent in place of JSON, each text cut by itself

	indented string          // where set, JSON as it is shown
	declared *toolset.Result // where set, what a toolset answered, in place of all the rest
}

// run calls t: arguments checked, panics caught, the end bounded, the text cut, and one event
// written before the answer.
func (s *Server) run(ctx context.Context, t *tool, inv Invocation) outcome {
	start := time.Now()
	result, err := s.perform(ctx, t, inv)
	done := s.finish(inv, result, err)
	s.record(t, inv, err, done, time.Since(start))
	return done
}

func (s *Server) perform(ctx context.Context, t *tool, inv Invocation) (Result, error) {
	arguments, err := t.check(inv.Arguments)
	if err != nil {
		return Result{}, err
	}
	inv.Arguments = arguments
	if t.instant {
		return s.guarded(ctx, t, inv)
	}
	if t.write {
		// Once begun, a write runs to its record, whatever becomes of the request.
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.toolTimeout)
	defer cancel()
	return s.bounded(ctx, t, inv)
}

// bounded gives up on a tool that does not heed its context; such a tool is left to itself.
func (s *Server) bounded(ctx context.Context, t *tool, inv Invocation) (Result, error) {
	type answer struct {
		result Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := s.guarded(ctx, t, inv)
		answers <- answer{result, err}
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
	}
	select { // a tool that ended with its context had its last word
	case a := <-answers:
		return a.result, a.err
	case <-time.After(t.grace()):
		return Result{}, overdue(ctx, t.write)
	}
}

// grace is what a tool of ours has left to answer in after its context ended.
const grace = 50 * time.Millisecond

func (t *tool) grace() time.Duration {
	if t.declared {
		return killGrace
	}
	return grace
}

func overdue(ctx context.Context, write bool) error {
	switch {
	case write:
		return &api.Error{
			Code: api.OutcomeUnknown, Reason: "deadline", Message: "it took too long, and may have been done or not", Err: ctx.Err(),
			Hint: "look whether it was done; do not simply call again",
		}
	case errors.Is(ctx.Err(), context.Canceled):
		return &api.Error{Code: api.Unavailable, Reason: "cancelled", Message: "the request was given up", Err: ctx.Err()}
	}
	return &api.Error{Code: api.Unavailable, Reason: "deadline", Message: "it took too long", Hint: "call again in a minute", Err: ctx.Err()}
}

// guarded turns a panic into an error with a fixed text; what the panic said may hold anything.
func (s *Server) guarded(ctx context.Context, t *tool, inv Invocation) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.config.Logger.Error("a tool panicked", "tool", t.name, "request", inv.Key, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, err = Result{}, broken(inv.Key)
		}
	}()
	return t.Run(ctx, inv)
}

func broken(key string) *api.Error {
	return &api.Error{
		Code: api.Internal, Message: "the ship met a fault of its own",
		Hint: "tell a person that the ship's log has the cause under request " + key,
	}
}
