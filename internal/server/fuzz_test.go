package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzDoor holds what the door promises for any body: one JSON answer or none, and where it
// carries an id, that of the request, byte for byte.
func FuzzDoor(f *testing.F) {
	for _, seed := range []string{
		statusGet, `{"jsonrpc":"2.0","id":1.0,"ID":"x","method":"ping"}`, `[{"jsonrpc":"2.0","id":1e3,"method":"tools/list"},7]`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repo_issue_view","arguments":{"number":1e999999999,"cursor":"\ud800"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `null`, "{\"id\":\"\xff\"}", `{"jsonrpc":"2.0","id":"\\u","method":"x"}`,
	} {
		f.Add([]byte(seed), "")
		f.Add([]byte(seed), "2026-07-28")
	}
	p := open(f)
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		var head []string
		if strings.Trim(version, "0123456789-") == "" && version != "" {
			head = []string{"MCP-Protocol-Version", version}
		}
		g := p.in(t).post(alpha, string(body), head...)
		switch {
		case g.status >= 500:
			t.Fatalf("%q: %d %s", body, g.status, g.body)
		case g.status == 202:
			if g.body != "" {
				t.Fatalf("%q: 202 with %q", body, g.body)
			}
			return
		case !json.Valid([]byte(g.body)) || strings.ContainsAny(g.body, "\r\n"):
			t.Fatalf("%q: %q is not one line of JSON", body, g.body)
		case g.body[0] == '[':
			return
		}
		var asked, answered struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(g.body), &answered); err != nil {
			t.Fatalf("%q: %v", g.body, err)
		}
		_ = json.Unmarshal(body, &asked)
		if answered.ID != nil && !bytes.Equal(asked.ID, answered.ID) {
			t.Fatalf("%q: the id %s came back as %s", body, asked.ID, answered.ID)
		}
		if g.status == 200 && answered.ID == nil {
			t.Fatalf("%q: a request was answered without its id: %s", body, g.body)
		}
	})
}
