package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/talk"
)

// tokenLine stands in seeds and inputs for the header with alpha's token, which is a new one in
// every process.
const tokenLine = "\r\nAuthorization: Bearer fleet_TOKEN\r\n"

// secret is what only the sibling's answers hold.
const secret = "what-only-the-sibling-may-read"

// posted is the head of a POST to alpha's endpoint; its lines end in CR LF, the last one too.
func posted(header ...string) string {
	return "POST " + alpha.MCPPath() + " HTTP/1.1\r\nHost: 127.0.0.1" + tokenLine + "Content-Type: application/json\r\n" + strings.Join(append(header, ""), "\r\n")
}

// seed is one HTTP request: its head up to the empty line, and its body.
type seed struct{ head, body string }

// wire is the seed as it goes over a connection.
func (s seed) wire() string {
	if len(s.body) == 0 {
		return s.head + "\r\n"
	}
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", s.head, len(s.body), s.body)
}

// talks are the requests that real clients sent, by HTTP and by standard input.
func talks(t testing.TB) []seed {
	t.Helper()
	var found []seed
	for _, captured := range talk.Captured(t) {
		for _, said := range captured.Messages {
			found = append(found, talked(said))
		}
	}
	return found
}

func talked(said talk.Message) seed {
	if said.Method == "" {
		return seed{posted(), said.Body}
	}
	head := said.Method + " " + alpha.MCPPath() + " HTTP/1.1\r\nHost: 127.0.0.1"
	for _, name := range slices.Sorted(maps.Keys(said.Header)) {
		head += "\r\n" + name + ": " + said.Header[name]
	}
	return seed{head + "\r\n", said.Body}
}

// modernHeaders are those of a tools/call of the revision 2026-07-28.
func modernHeaders(name string) []string {
	return []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + name}
}

// nasty are bodies that JSON readers disagree about, or that cost them dearly.
func nasty() []string {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return []string{
		statusGet, "", " ", "{}", "[]", "null", "7", `"x"`, "{", "\x00", "\xef\xbb\xbf" + statusGet, statusGet + "\r\n", statusGet + statusGet,
		`{"jsonrpc":"2.0","id":1.0,"ID":"x","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","METHOD":"tools/list"}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":-0,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`,
		`{"jsonrpc":"2.0","id":"\u0000","method":"\u0070ing"}`, "{\"id\":\"\xff\"}", `{"jsonrpc":"2.0","id":"\\u","method":"x"}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\u2028<&>\",\"method\":\"ping\"}",
		`[{"jsonrpc":"2.0","id":1e3,"method":"tools/list"},7]`, `[` + statusGet + `,` + statusGet + `,{"jsonrpc":"2.0","method":"notifications/x"}]`, `[[],[{}]]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_status_get","arguments":{},` + meta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repo_issue_view","arguments":{"number":1e999999999,"cursor":"\ud800"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_init","arguments":{"model":"m","provider":"p","harness":"h","repo":"widgets","workspace":"é b"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat(`{"arguments":`, 300) + `{}` + strings.Repeat(`}`, 301),
		strings.Repeat("[", 11000), `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///"}}`,
	}
}

// heads are those that a body may come under, whether or not it may.
func heads() []string {
	path := alpha.MCPPath()
	sibling := strings.Replace(posted(), path, beta.MCPPath(), 1)
	return []string{
		posted(), posted("MCP-Protocol-Version: 2026-07-28"), posted(modernHeaders("agent_status_get")...), posted(modernHeaders("=?base64?YWdlbnRfaW5pdA==?=")...),
		posted("MCP-Protocol-Version: 2025-03-26"), posted("MCP-Protocol-Version: 1900-01-01"), posted("MCP-Protocol-Version: 2025-06-18", "MCP-Protocol-Version: 2026-07-28"),
		posted("Last-Event-ID: 3", "Mcp-Session-Id: x", "Accept: text/html"), posted("Origin: http://evil.example"), posted("Origin: null"), posted("Authorization: Bearer x"),
		sibling, strings.Replace(posted(), tokenLine, "\r\n", 1), strings.Replace(posted(), "application/json", "text/plain", 1),
		strings.Replace(posted(), path, "/workspaces/widgets/../widgets/main/mcp", 1), strings.Replace(posted(), path, "//workspaces/widgets/main/mcp/", 1),
		strings.Replace(posted(), path, "/workspaces/widgets%2Fmain/mcp", 1), strings.Replace(posted(), "127.0.0.1", "evil.example", 1),
		strings.Replace(posted(), "POST", "GET", 1), strings.Replace(posted(), "POST", "DELETE", 1), strings.Replace(posted(), "POST", "PATCH", 1),
		strings.Replace(posted(), "POST "+path, "GET /healthz", 1), strings.Replace(posted(), "POST "+path, "GET /.well-known/oauth-protected-resource", 1),
	}
}

// authorized puts the real token where the first placeholder stands.
func (p *port) authorized(text string) string {
	return strings.Replace(text, tokenLine, strings.Replace(tokenLine, "fleet_TOKEN", p.workspaces.token(alpha), 1), 1)
}

// fuzzed is a port whose sibling workspace has something to hide.
func fuzzed(f *testing.F) *port {
	p := open(f, func(c *Config) { c.Repository = answering{} })
	p.call(beta, "agent_init", `{"model":"`+secret+`","provider":"p","harness":"h"}`)
	return p
}

// forget keeps what the test collects from filling the memory.
func (p *port) forget() {
	p.events.mu.Lock()
	p.events.events = nil
	p.events.mu.Unlock()
	p.log.Forget()
}

// kept holds an answer to say nothing of the sibling and no token that the client did not send
// where it is shown.
func (p *port) kept(t *testing.T, input, output string) {
	t.Helper()
	for what, text := range map[string]string{"the sibling's data": secret, "the sibling's token": p.workspaces.token(beta), "the token": p.workspaces.token(alpha)} {
		if strings.Contains(output, text) && !strings.Contains(input, text) {
			t.Fatalf("%q: the answer holds %s: %q", input, what, output)
		}
	}
}

// serves holds the port to answer a good request still.
func (p *port) serves(t *testing.T, after string) {
	t.Helper()
	if g := p.in(t).post(alpha, `{"jsonrpc":"2.0","id":"after","method":"ping"}`); g.status != http.StatusOK || g.body != `{"jsonrpc":"2.0","id":"after","result":{}}` {
		t.Fatalf("after %q a ping is answered with %d %s", after, g.status, g.body)
	}
}

// reaches says that a request goes to the endpoint of a workspace, whether or not there is one of
// that name. An escaped slash separates nothing, and net/url's EscapedPath loses the escape where
// other bytes lack theirs.
func reaches(r *http.Request) bool {
	parts := strings.Split(cmp.Or(r.URL.RawPath, r.URL.Path), "/")
	return r.Method == http.MethodPost && len(parts) == 5 && parts[0] == "" && parts[1] == "workspaces" && parts[2] != "" && parts[3] != "" && parts[4] == "mcp"
}

// typed holds an answer to say truly what it is. A refusal on an endpoint is JSON, never plain text.
func typed(t *testing.T, input string, endpoint bool, h http.Header, body string) {
	t.Helper()
	kind := h.Get("Content-Type")
	switch {
	case body == "" && kind == "":
	case kind == "application/json" && json.Valid([]byte(body)) && !strings.ContainsAny(body, "\r\n"):
	case kind == "application/json" && !endpoint && json.Valid([]byte(body)):
	case kind == "text/plain; charset=utf-8" && !endpoint:
	default:
		t.Fatalf("%q was answered with Content-Type %q and %q", input, kind, body)
	}
}
