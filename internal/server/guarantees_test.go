package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
)

// forge is the far end of the Repository seam.
type forge struct {
	result Result
	err    error
	delay  time.Duration
	run    func(ctx context.Context)

	mu    sync.Mutex
	calls []Invocation
}

func (f *forge) Call(ctx context.Context, inv Invocation) (Result, error) {
	f.mu.Lock()
	f.calls = append(f.calls, inv)
	f.mu.Unlock()
	time.Sleep(f.delay)
	if f.run != nil {
		f.run(ctx)
	}
	return f.result, f.err
}

const comment = `{"number":7,"body":"x"}`

func TestAPanicInAToolIsAFixedTextAndAStackInTheLog(t *testing.T) {
	p := open(t, func(c *Config) { c.Repository = &forge{run: func(context.Context) { panic("a secret") }} })
	for _, tool := range []string{"repo_info", "repo_issue_list"} {
		c := p.call(alpha, tool, `{}`)
		if !c.IsError || !strings.HasPrefix(c.Text, "internal: the ship met a fault of its own\nNext: ") || strings.Contains(c.Text, "secret") {
			t.Errorf("%s: %+v, want a fixed text", tool, c)
		}
	}
	if log := p.log.String(); !strings.Contains(log, "guarantees_test.go") || !strings.Contains(log, "a secret") {
		t.Errorf("the log lacks stack and cause: %s", log)
	}
	if e := p.events.of("tool.call"); len(e) != 2 || e[0].Outcome != "error" {
		t.Errorf("events %+v, want two errors", e)
	}
	if c := p.call(alpha, "agent_status_get", `{}`); c.IsError {
		t.Errorf("after the panic: %+v", c)
	}
}

func TestAnAgentReadsCodeMessageAndHintAndNeverTheCause(t *testing.T) {
	for name, c := range map[string]struct {
		err           error
		text, outcome string
	}{
		"an error of ours": {
			&api.Error{Code: api.RateLimited, Message: "the forge asks to wait", RetryAfterSeconds: 9, Hint: "wait", Err: errors.New("a secret")},
			"rate_limited: the forge asks to wait\nRetry after 9 seconds.\nNext: wait", "error",
		},
		"a refusal":        {&api.Error{Code: api.Forbidden, Message: "no"}, "forbidden: no", "refused"},
		"an unclear write": {&api.Error{Code: api.OutcomeUnknown, Message: "unclear"}, "outcome_unknown: unclear", "error"},
		"any other error":  {errors.New("dial tcp: a secret"), "internal: the ship met a fault of its own\nNext: tell a person that the ship's log has the cause under request ", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, func(config *Config) { config.Repository = &forge{err: c.err} })
			got := p.call(alpha, "repo_issue_comment", comment)
			if !got.IsError || !strings.HasPrefix(got.Text, c.text) || strings.Contains(got.Text, "secret") {
				t.Errorf("%+v, want %q", got, c.text)
			}
			if e := p.events.of("tool.call"); e[0].Outcome != c.outcome {
				t.Errorf("outcome %s, want %s", e[0].Outcome, c.outcome)
			}
			if strings.Contains(c.err.Error()+"a secret", "dial") && !strings.Contains(p.log.String(), "a secret") {
				t.Error("the cause is not in the log")
			}
		})
	}
}

func TestEveryToolEndsInTimeWhetherItHeedsItsContextOrNot(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	heeds := func(ctx context.Context) { <-ctx.Done() }
	ignores := func(context.Context) { <-stuck }
	for name, c := range map[string]struct {
		run  func(context.Context)
		tool string
		args string
		want string
	}{
		"a read that ignores it":  {ignores, "repo_info", `{}`, "unavailable: it took too long"},
		"a write that ignores it": {ignores, "repo_issue_comment", comment, "outcome_unknown: it took too long"},
		"a write that heeds it":   {heeds, "repo_issue_comment", comment, "conflict: the tool's own word"},
	} {
		t.Run(name, func(t *testing.T) {
			far := &forge{run: c.run, err: &api.Error{Code: api.Conflict, Message: "the tool's own word"}}
			p := open(t, func(config *Config) { config.Repository = far })
			p.server.toolTimeout = 50 * time.Millisecond
			if got := p.call(alpha, c.tool, c.args); !got.IsError || !strings.HasPrefix(got.Text, c.want) {
				t.Errorf("%+v, want %q", got, c.want)
			}
			if n := len(p.events.of("tool.call")); n != 1 {
				t.Errorf("%d events, want one", n)
			}
		})
	}
	p := open(t)
	if s, err := New(p.server.config); err != nil || s.toolTimeout != time.Minute {
		t.Errorf("a tool has %v (%v), want a minute", s.toolTimeout, err)
	}
}

func TestABatchEndsInTheTimeOfOneTool(t *testing.T) {
	far := &forge{run: func(ctx context.Context) { <-ctx.Done() }, err: errors.New("late")}
	p := open(t, func(c *Config) { c.Repository = far })
	p.server.toolTimeout = 50 * time.Millisecond
	one := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repo_info"}}`
	g := p.post(alpha, "["+one+","+one+","+one+"]")
	if strings.Count(g.body, "the batch took too long") != 2 || len(far.calls) != 1 {
		t.Errorf("%d calls, %s; want one, and two that were not run", len(far.calls), g.body)
	}
}

func TestLongTextIsCutOnARuneAndSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		cut  bool
	}{
		"just fits":  {strings.Repeat("x", maxText-2), false},
		"one more":   {strings.Repeat("x", maxText-1), true},
		"of accents": {"x" + strings.Repeat("é", maxText), true},
		"of emoji":   {strings.Repeat("😀", maxText), true},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(c.text)
			if err != nil {
				t.Fatal(err)
			}
			p := open(t, func(config *Config) { config.Repository = &forge{result: Result{JSON: raw}} })
			got := p.call(alpha, "repo_info", `{}`).Text
			if len(got) > 256<<10 || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
				t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
			}
			if cut := strings.HasSuffix(got, "\n[truncated]"); cut != c.cut || cut && len(got) < maxText-4 {
				t.Errorf("cut %t at %d, want %t", cut, len(got), c.cut)
			}
			if e := p.events.of("tool.call"); e[0].Bytes != len(got) {
				t.Errorf("the event says %d bytes, want %d", e[0].Bytes, len(got))
			}
		})
	}
	long := []mcp.Content{mcp.TextContent{Type: "text", Text: strings.Repeat("x", maxText+1)}}
	p := open(t, func(config *Config) { config.Repository = &forge{result: Result{Content: long}} })
	if got := p.call(alpha, "repo_info", `{}`).Text; len(got) != maxText {
		t.Errorf("content of %d bytes, want %d", len(got), maxText)
	}
}

func TestAToolThatAnswersNoJSONIsAFaultOfOurs(t *testing.T) {
	p := open(t, func(c *Config) { c.Repository = &forge{result: Result{JSON: json.RawMessage("<html>")}} })
	if got := p.call(alpha, "repo_info", `{}`); !got.IsError || !strings.HasPrefix(got.Text, "internal: ") {
		t.Errorf("%+v, want an error", got)
	}
}
