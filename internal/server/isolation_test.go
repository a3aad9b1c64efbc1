package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"fleet/api"
	"fleet/internal/atlas"
)

// held is a tool whose calls wait until they are let go or their context ends.
type held struct {
	letGo chan struct{}

	mu    sync.Mutex
	calls []context.Context // in the order in which they began
	ended int
}

func newHeld() *held { return &held{letGo: make(chan struct{})} }

func (h *held) wait(ctx context.Context) error {
	h.mu.Lock()
	h.calls = append(h.calls, ctx)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended++
	}()
	select {
	case <-h.letGo:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancelled says of the nth call, from 0, whether its context ended.
func (h *held) cancelled(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[n].Err() != nil
}

func (h *held) count() (begun, ended int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.calls), h.ended
}

// release lets one waiting call go on, and fails where none waits any more.
func (h *held) release(t *testing.T) {
	t.Helper()
	select {
	case h.letGo <- struct{}{}:
	case <-time.After(10 * time.Second):
		t.Fatal("no call waits any more")
	}
}

func (h *held) awaitCalls(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d calls run", n), func() bool { begun, _ := h.count(); return begun == n })
}

const waitDefinition = `{"name":"wait","description":"waits","inputSchema":{"type":"object","additionalProperties":false},
	"annotations":{"readOnlyHint":%t,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`

func (h *held) tool(readOnly bool) Tool {
	return Tool{Definition: fmt.Appendf(nil, waitDefinition, readOnly), Run: func(ctx context.Context, _ Invocation) (Result, error) {
		if err := h.wait(ctx); err != nil {
			return Result{}, &api.Error{Code: api.Unavailable, Message: "given up", Err: err}
		}
		return Result{JSON: json.RawMessage(`"done"`)}, nil
	}}
}

// endpoint is where one client of an MCP server posts to.
type endpoint struct{ url, authorization string }

func (e endpoint) send(ctx context.Context, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", e.url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", e.authorization)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return string(out), err
}

const (
	callWait   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`
	cancelWait = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`
)

// survives calls the tool by both clients under one id, has the first one's call cancelled, and
// reports whether the second client's call was left alone and answered.
func survives(t *testing.T, h *held, first, second endpoint, cancel func(stop func())) bool {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer stop()
	calls.Go(func() { _, _ = first.send(ctx, callWait) })
	h.awaitCalls(t, 1)
	var answer string
	answered := make(chan struct{})
	calls.Go(func() {
		defer close(answered)
		answer, _ = second.send(context.Background(), callWait)
	})
	h.awaitCalls(t, 2)
	cancel(stop)
	untouched := !h.cancelled(1)
	close(h.letGo)
	<-answered
	return untouched && strings.Contains(answer, "done")
}

// cancellers are the ways in which a client can cancel its first call. Each returns when what it
// cancels is cancelled: a notification takes effect before its own answer.
func cancellers(t *testing.T, h *held, from endpoint) map[string]func(stop func()) {
	notify := func(id string) func(func()) {
		return func(func()) {
			if _, err := from.send(context.Background(), fmt.Sprintf(cancelWait, id)); err != nil {
				t.Error(err)
			}
		}
	}
	return map[string]func(func()){
		"by a notification":               notify("7"),
		"by a notification with a string": notify(`"7"`),
		"by closing the request": func(stop func()) {
			stop()
			eventually(t, "the closed call ends", func() bool { return h.cancelled(0) })
		},
	}
}

func TestCancellingNeverTouchesAnotherClientsCall(t *testing.T) {
	for where, ids := range map[string][2]atlas.ID{"in one workspace": {alpha, alpha}, "in two workspaces": {alpha, beta}} {
		for _, how := range []string{"by a notification", "by a notification with a string", "by closing the request"} {
			t.Run(where+" "+how, func(t *testing.T) {
				h := newHeld()
				p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(true)} })
				at := func(id atlas.ID) endpoint { return endpoint{p.base + id.MCPPath(), "Bearer " + p.workspaces.token(id)} }
				if !survives(t, h, at(ids[0]), at(ids[1]), cancellers(t, h, at(ids[0]))[how]) {
					t.Error("the other client's call was cancelled")
				}
			})
		}
	}
}

// TestBareMCPGoCancelsAcrossClients is the control: the same clients against mcp-go's own
// transport. Should it pass one day, the door can be thinner.
func TestBareMCPGoCancelsAcrossClients(t *testing.T) {
	for _, how := range []string{"by a notification", "by a notification with a string"} {
		t.Run(how, func(t *testing.T) {
			h := newHeld()
			s := mcpgo.NewMCPServer("bare", "1")
			s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if err := h.wait(ctx); err != nil {
					return nil, err
				}
				return mcp.NewToolResultText("done"), nil
			})
			far := httptest.NewServer(mcpgo.NewStreamableHTTPServer(s, mcpgo.WithStateLess(true), mcpgo.WithDisableStreaming(true)))
			defer far.Close()
			at := endpoint{url: far.URL + "/mcp"}
			if survives(t, h, at, at, cancellers(t, h, at)[how]) {
				t.Error("mcp-go no longer cancels the call of another client")
			}
		})
	}
}

func TestEachClientGetsItsOwnAnswer(t *testing.T) {
	p := open(t, func(c *Config) {
		c.Tools = []Tool{{
			Definition: json.RawMessage(`{"name":"where","inputSchema":{"type":"object","properties":{"who":{"type":"integer"}},"additionalProperties":false},
				"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`),
			Run: func(_ context.Context, inv Invocation) (Result, error) {
				raw, err := json.Marshal(inv.Workspace.String() + string(inv.Arguments))
				return Result{JSON: raw}, err
			},
		}}
	})
	var calls sync.WaitGroup
	for i := range 200 {
		id := alpha
		if i%2 == 1 {
			id = beta
		}
		calls.Go(func() {
			c := p.call(id, "where", fmt.Sprintf(`{"who":%d}`, i))
			if want := fmt.Sprintf(`"%s{\"who\":%d}"`, id, i); c.Text != want {
				t.Errorf("call %d of %s was answered %s", i, id, c.Text)
			}
		})
	}
	calls.Wait()
}

func TestClosingTheRequestEndsAReadAndNotAWrite(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		t.Run(fmt.Sprintf("readOnly %t", readOnly), func(t *testing.T) {
			h := newHeld()
			p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(readOnly)} })
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan struct{})
			at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
			go func() { defer close(ended); _, _ = at.send(ctx, callWait) }()
			h.awaitCalls(t, 1)
			stop()
			<-ended
			if readOnly {
				eventually(t, "the read ends", func() bool { _, ended := h.count(); return h.cancelled(0) && ended == 1 })
				return
			}
			eventually(t, "the ship sees the request closed", p.workspaces.closed)
			h.release(t) // it still waits, and ends as if nothing had happened
			eventually(t, "the write is recorded", func() bool { return len(p.events.of("tool.call")) == 1 })
			if e := p.events.of("tool.call")[0]; e.Outcome != "ok" {
				t.Errorf("outcome %s, want a write that ran to its end", e.Outcome)
			}
		})
	}
}

func TestAnAgentsReportIsKeptThoughItsRequestIsClosed(t *testing.T) {
	p := open(t)
	p.workspaces.saving, p.workspaces.goOn = make(chan struct{}, 1), make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
	go func() {
		defer close(ended)
		_, _ = at.send(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_init","arguments":{"model":"m","provider":"p","harness":"h"}}}`)
	}()
	<-p.workspaces.saving
	stop()
	<-ended
	eventually(t, "the ship sees the request closed", p.workspaces.closed)
	p.workspaces.goOn <- struct{}{}
	eventually(t, "the agent is registered", func() bool { return p.workspaces.book.Get(alpha) != nil })
}
