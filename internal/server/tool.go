package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

const (
	maxText   = 256 << 10
	truncated = "\n[truncated]"
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

// outcome is how a call ended, as the client is told.
type outcome struct {
	text           string
	content        []mcp.Content
	isError        bool
	repositoryText bool
	declared       *toolset.Result
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

// finish makes what the client is told of what the tool answered.
func (s *Server) finish(inv Invocation, result Result, err error) outcome {
	if err != nil {
		return outcome{text: cut(s.explain(inv, err).Text()), isError: true}
	}
	if result.declared != nil {
		return s.finishDeclared(inv, result.declared)
	}
	done := outcome{content: result.Content, repositoryText: result.RepositoryText}
	if result.Content != nil {
		for i, item := range result.Content {
			if text, ok := item.(mcp.TextContent); ok {
				text.Text = cut(text.Text)
				result.Content[i] = text
			}
		}
		return done
	}
	if done.text = result.indented; done.text != "" {
		return done
	}
	if done.text, err = indent(result.JSON); err != nil {
		s.config.Logger.Error("a tool answered without JSON", "tool", inv.Tool, "request", inv.Key, "err", err)
		return outcome{text: broken(inv.Key).Text(), isError: true}
	}
	done.text = cut(done.text)
	return done
}

// explain gives the error that an agent may read, and logs the cause, which it may not.
func (s *Server) explain(inv Invocation, err error) *api.Error {
	var e *api.Error
	if !errors.As(err, &e) {
		e = broken(inv.Key)
		e.Err = err
	}
	if e.Err != nil && !errors.Is(e.Err, context.Canceled) {
		level := slog.LevelWarn
		if e.Code == api.NotFound || e.Code == api.Invalid { // the agent's own slip
			level = slog.LevelDebug
		}
		s.config.Logger.LogAttrs(context.Background(), level, "a tool failed", slog.String("tool", inv.Tool),
			slog.String("request", inv.Key), slog.String("code", string(e.Code)), slog.Any("err", e.Err))
	}
	return e
}

func indent(raw json.RawMessage) (string, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return "", err
	}
	return out.String(), nil
}

// cut bounds a text on a rune's boundary and says so.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText - len(truncated)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + truncated
}

// record writes the call's event. A call whose event cannot be written is answered all the same:
// what it did is done, and what it read harms nobody.
func (s *Server) record(t *tool, inv Invocation, err error, done outcome, took time.Duration) {
	event := api.Event{
		Type: api.ToolCalled, Repo: inv.Workspace.Repo, Workspace: inv.Workspace.Name,
		Call: &api.Call{Stage: "mcp", Tool: inv.Tool, Outcome: api.OutcomeOK, MS: took.Milliseconds(), Bytes: len(done.text)},
	}
	if status := s.config.Workspaces.Agents().Get(inv.Workspace); status != nil && !t.declared {
		event.Session = status.SessionID
	}
	switch {
	case done.declared != nil:
		event.Session, event.Outcome = done.declared.Session, done.declared.Outcome()
	case done.isError:
		event.Outcome = outcomeOf(err)
	}
	s.callLog.report(s.config.Events.Append(event))
}

// outcomeOf tells what was not allowed from what was tried and failed.
func outcomeOf(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		switch e.Code {
		case api.Invalid, api.Unauthenticated, api.Forbidden, api.NotFound, api.Conflict, api.Unsupported:
			return api.OutcomeRefused
		}
	}
	return api.OutcomeError
}
