package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkExchange is what the ship does for one request, without sockets: every layer, the
// token, MCP, the tool and the call's event.
func BenchmarkExchange(b *testing.B) {
	modernCall, modernHeaders := modernRequest("1", "tools/call", `{"name":"agent_status_get","arguments":{}}`)
	modernList, listHeaders := modernRequest("1", "tools/list", "{}")
	for name, c := range map[string]struct {
		body    string
		headers []string
	}{
		"call, 2025-11-25": {statusGet, []string{"MCP-Protocol-Version", "2025-11-25"}},
		"call, 2026-07-28": {modernCall, modernHeaders},
		"list, 2025-11-25": {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"MCP-Protocol-Version", "2025-11-25"}},
		"list, 2026-07-28": {modernList, listHeaders},
		"an unknown token": {statusGet, []string{"Authorization", "Bearer fleet_" + strings.Repeat("A", 43)}},
	} {
		b.Run(name, func(b *testing.B) {
			p := busy(b)
			handler := p.server.Handler()
			want := http.StatusOK
			if strings.Contains(name, "unknown") {
				want = http.StatusUnauthorized
			}
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+alpha.MCPPath(), strings.NewReader(c.body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+p.workspaces.token(alpha))
				for i := 0; i+1 < len(c.headers); i += 2 {
					r.Header.Set(c.headers[i], c.headers[i+1])
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != want {
					b.Fatalf("%d %s, want %d", w.Code, w.Body, want)
				}
			}
		})
	}
}
