package adapter_test

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"fleet/internal/atlas"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestHeadersFollowTheEraOfTheBody: a modern request names version, method and name in headers
// too; a legacy one carries the version that was negotiated, and never a modern header.
func TestHeadersFollowTheEraOfTheBody(t *testing.T) {
	t.Parallel()
	modern := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta + `}}`
	}
	for name, c := range map[string]struct {
		negotiated, line string
		want             map[string]string
	}{
		"legacy-before-initialize": {"", call("1"), nil},
		"initialize":               {"", initialize("1"), nil},
		"proto-header":             {"2025-06-18", call("1"), map[string]string{"Mcp-Protocol-Version": "2025-06-18"}},
		"initialize-again":         {"2025-06-18", initialize("1"), nil},
		"legacy-modern-version":    {"2026-07-28", call("1"), nil},
		"discover": {"", modern("server/discover", ""), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover",
		}},
		"modern-call": {"", modern("tools/call", `"name":"agent_init",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "agent_init",
		}},
		"modern-after-legacy": {"2025-06-18", modern("tools/list", ""), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
		}},
		"modern-resource": {"", modern("resources/read", `"name":"x","uri":"file:///a b",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/read", "Mcp-Name": "file:///a b",
		}},
		"modern-prompt": {"", modern("prompts/get", `"name":"p",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "prompts/get", "Mcp-Name": "p",
		}},
		"name-not-ascii": {"", modern("tools/call", `"name":"é",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6k=?=",
		}},
		"name-with-newline": {"", modern("tools/call", `"name":"a\r\nX: y",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?YQ0KWDogeQ==?=",
		}},
		"name-with-blank-end": {"", modern("tools/call", `"name":"a ",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?YSA=?=",
		}},
		"name-like-base64": {"", modern("tools/call", `"name":"=?base64?YQ==?=",`), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?PT9iYXNlNjQ/WVE9PT89?=",
		}},
		"name-absent": {"", modern("tools/call", ""), map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, negotiating(c.negotiated))
			w := newWorkspace(t, f.port())
			h := w.start(t)
			if c.negotiated != "" {
				h.sendLine(initialize("0"))
				h.line()
			}
			h.sendLine(c.line)
			h.line()
			h.end()
			posts := f.posts()
			got := map[string]string{}
			for name, values := range posts[len(posts)-1].header {
				if strings.HasPrefix(name, "Mcp-") && len(values) == 1 {
					got[name] = values[0]
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("MCP's headers are %q, want %q", got, c.want)
			}
		})
	}
}

// TestEachRequestGoesToTheWorkspacesOwnAddress holds what every POST has, for a name that must
// be escaped, with proxies in the environment.
func TestEachRequestGoesToTheWorkspacesOwnAddress(t *testing.T) {
	t.Parallel()
	proxy := newFar(t, status(http.StatusTeapot, "text/plain", "proxy"))
	f := newFar(t, nil)
	w := newNamedWorkspace(t, f.port(), atlas.ID{Repo: "r %41$", Name: "é;b"})
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"} {
		w.env = append(w.env, name+"="+"http://"+proxy.listener.Addr().String())
	}
	h := w.start(t)
	h.sendLine(call("1"))
	h.want(answered("1"))
	h.end()
	got := f.posts()[0]
	want := map[string]string{
		"Authorization": "Bearer " + w.token(), "Accept": "application/json, text/event-stream",
		"Content-Type": "application/json", "User-Agent": "agent-mcp/v1.2.3", "Accept-Encoding": "gzip",
	}
	for name, value := range want {
		if got.header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), value)
		}
	}
	if path := w.id.MCPPath(); got.path != path || got.host != f.listener.Addr().String() {
		t.Errorf("it went to %s on %s, want %s on %s", got.path, got.host, path, f.listener.Addr())
	}
	if n := len(proxy.posts()); n != 0 {
		t.Errorf("the proxy got %d requests", n)
	}
}

// TestARedirectTakesNoTokenAnywhere holds that none is followed.
func TestARedirectTakesNoTokenAnywhere(t *testing.T) {
	t.Parallel()
	other := newFar(t, nil)
	f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		code, _ := strconv.Atoi(p.id)
		with(status(code, "", ""), "Location", "http://"+other.listener.Addr().String()+"/")(w, r, p)
	})
	h := newWorkspace(t, f.port()).start(t)
	codes := []string{"301", "302", "303", "307", "308"}
	for _, id := range codes {
		h.sendLine(call(id))
		h.fault(id, -32603, "without an answer")
	}
	h.end()
	if len(other.posts()) != 0 || len(f.posts()) != len(codes) {
		t.Errorf("the other place got %d requests, ours %d", len(other.posts()), len(f.posts()))
	}
}
