package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/e2e/talk"
	"fleet/internal/token"
)

var (
	alpha = atlas.ID{Repo: "widgets", Name: "main"}
	beta  = atlas.ID{Repo: "widgets", Name: "é b"}
)

// port is a Server on real loopback sockets, over workspaces kept in memory.
type port struct {
	t          testing.TB
	server     *Server
	workspaces *memory
	events     *recorder
	log        *talk.Words
	base       string
	client     *http.Client
	stop       func() error
}

// open starts a port; change may alter the configuration and the server before it serves.
func open(t testing.TB, change ...func(*Config)) *port {
	t.Helper()
	p := &port{t: t, workspaces: newMemory(), events: &recorder{}, log: &talk.Words{}}
	logger := slog.New(slog.NewTextHandler(p.log, nil))
	p.workspaces.book = agent.NewBook(p.workspaces, p.events, logger)
	c := Config{
		Version: "1.2.3", Workspaces: p.workspaces, Tokens: &p.workspaces.tokens, Events: p.events, Logger: logger,
	}
	for _, f := range change {
		f(&c)
	}
	var err error
	if p.server, err = New(c); err != nil {
		t.Fatalf("New: %v", err)
	}
	p.server.toolTimeout = 2 * time.Second
	p.server.bodyTimeout = 2 * time.Second
	p.workspaces.activate(alpha)
	p.workspaces.activate(beta)
	p.serve()
	return p
}

// in is the same port for a subtest.
func (p *port) in(t testing.TB) *port {
	here := *p
	here.t = t
	return &here
}

func (p *port) serve() {
	l, err := Listen(0)
	if err != nil {
		p.t.Fatalf("Listen(0): %v", err)
	}
	p.base = fmt.Sprintf("http://127.0.0.1:%d", l.Port())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.server.Serve(ctx, l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	p.client = &http.Client{Transport: transport, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p.stop = sync.OnceValue(func() error {
		cancel()
		transport.CloseIdleConnections()
		return <-ended
	})
	p.t.Cleanup(func() {
		if err := p.stop(); err != nil {
			p.t.Errorf("Serve: %v", err)
		}
	})
}

// got is one response.
type got struct {
	status int
	header http.Header
	body   string
}

func (p *port) do(r *http.Request) got {
	p.t.Helper()
	resp, err := p.client.Do(r)
	if err != nil {
		p.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("%s %s: read the body: %v", r.Method, r.URL, err)
	}
	return got{resp.StatusCode, resp.Header, string(body)}
}

func (p *port) request(method, path string, body io.Reader, headers ...string) *http.Request {
	p.t.Helper()
	r, err := http.NewRequest(method, p.base+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// post sends a body to id's endpoint with id's token.
func (p *port) post(id atlas.ID, body string, headers ...string) got {
	p.t.Helper()
	r := p.request("POST", id.MCPPath(), bytes.NewReader([]byte(body)), headers...)
	r.Header.Set("Authorization", "Bearer "+p.workspaces.token(id))
	return p.do(r)
}

// modern sends a request of 2026-07-28 with all the headers it needs.
func (p *port) modern(id atlas.ID, rpcID, method, params string, headers ...string) got {
	p.t.Helper()
	body, head := modernRequest(rpcID, method, params)
	return p.post(id, body, append(head, headers...)...)
}

func modernRequest(rpcID, method, params string) (body string, headers []string) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(params), &members); err != nil {
		panic(err)
	}
	members["_meta"] = json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`)
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	headers = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	var name string
	if json.Unmarshal(members["name"], &name) == nil && name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, rpcID, method, raw), headers
}

// called is what a tools/call was answered with.
type called struct {
	Text    string
	IsError bool
}

// call calls a tool as an agent of a legacy revision does.
func (p *port) call(id atlas.ID, tool, arguments string) called {
	p.t.Helper()
	g := p.post(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	return toolAnswer(p.t, g)
}

func toolAnswer(t testing.TB, g got) called {
	t.Helper()
	var answer struct {
		Result struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(g.body), &answer); err != nil || g.status != 200 || len(answer.Result.Content) != 1 {
		t.Fatalf("a call was answered with %d %s, want one text item", g.status, g.body)
	}
	return called{answer.Result.Content[0].Text, answer.Result.IsError}
}

// failure reads a JSON-RPC error.
func failure(t testing.TB, g got) (id string, code int, message string) {
	t.Helper()
	var answer struct {
		JSONRPC string
		ID      json.RawMessage
		Error   *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(g.body), &answer); err != nil || answer.Error == nil || answer.JSONRPC != "2.0" {
		t.Fatalf("got %d %q, want a JSON-RPC error", g.status, g.body)
	}
	if kind := g.header.Get("Content-Type"); kind != "application/json" {
		t.Fatalf("Content-Type %q, want application/json", kind)
	}
	return string(answer.ID), answer.Error.Code, answer.Error.Message
}

// memory is a Workspaces and a Store without tmux.
type memory struct {
	book   *agent.Book
	tokens token.Table[atlas.ID]

	mu     sync.Mutex
	held   map[atlas.ID]token.Token
	seen   map[atlas.ID]int
	asked  context.Context // of the last request with a valid token
	broken error           // what Ready and SaveAgent answer
	saving chan struct{}
	goOn   chan struct{} // where set, SaveAgent reports on saving and waits
}

func newMemory() *memory {
	return &memory{held: map[atlas.ID]token.Token{}, seen: map[atlas.ID]int{}}
}

func (m *memory) activate(id atlas.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[id] = token.Mint()
	m.tokens.Add(m.held[id], id)
}

func (m *memory) deactivate(id atlas.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, id)
	m.tokens.RevokeAll(id)
	m.book.Drop(id)
}

func (m *memory) token(id atlas.ID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[id].Reveal()
}

func (m *memory) Agents() *agent.Book { return m.book }

func (m *memory) Active(id atlas.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.held[id]
	return ok
}

func (m *memory) MarkSeen(ctx context.Context, id atlas.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[id]++
	m.asked = ctx
}

// closed says that the client of the last request went away and that the ship has noticed.
func (m *memory) closed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked != nil && m.asked.Err() != nil
}

func (m *memory) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

func (m *memory) SaveAgent(ctx context.Context, id atlas.ID, _ string) error {
	if m.goOn != nil {
		m.saving <- struct{}{}
		<-m.goOn
	}
	if !m.Active(id) {
		return agent.ErrInactive
	}
	return errors.Join(m.Ready(ctx), ctx.Err())
}

// recorder is a Log in memory.
type recorder struct {
	mu     sync.Mutex
	events []api.Event
	err    error
}

func (r *recorder) Append(e api.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.events = append(r.events, e)
	return nil
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *recorder) of(kind string) []api.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []api.Event
	for _, e := range r.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// eventually polls until ok holds, and gives up after a generous while.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
