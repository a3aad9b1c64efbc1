package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
	"fleet/internal/toolset"
)

const (
	maxText   = 256 << 10
	truncated = "\n[truncated]"
)

// outcome is how a call ended, as the client is told.
type outcome struct {
	text           string
	content        []mcp.Content
	isError        bool
	repositoryText bool
	declared       *toolset.Result
}

// finish makes what the client is told of what the tool answered.
func (s *Server) finish(inv Invocation, result Result, err error) outcome {
	if err != nil {
		return outcome{text: cut(s.explain(inv, err).Text()), isError: true}
	}
	if result.declared != nil {
		return s.finishDeclared(inv, result.declared)
	}
	done := outcome{content: slices.Clone(result.Content), repositoryText: result.RepositoryText}
	if done.content != nil {
		for i, item := range done.content {
			if text, ok := item.(mcp.TextContent); ok {
				text.Text = cut(text.Text)
				done.content[i] = text
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
