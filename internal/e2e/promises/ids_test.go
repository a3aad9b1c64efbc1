package promises_test

import (
	"encoding/json"
	"testing"
)

func oddIDs() []string { return []string{"9007199254740993", `"7"`, "7", "0", "-7", "1.0"} }

func TestIDsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	tok := f.token(t, "one")
	for _, id := range oddIDs() {
		for method, line := range map[string]string{
			"tools/call": call(id, "agent_status_get", "{}"),
			"tools/list": `{"jsonrpc":"2.0","method":"tools/list","id":` + id + `}`,
			"a failure":  call(id, "no_such_tool", "{}"),
		} {
			if m := a.ask(t, line); string(m.ID) != id {
				t.Errorf("%s through agent-mcp under id %s was answered with %s", method, id, m.raw)
			}
			r := f.http(t, ask{path: mcpPath("one"), token: tok, body: line})
			var m message
			if err := json.Unmarshal([]byte(r.body), &m); err != nil || string(m.ID) != id {
				t.Errorf("%s over HTTP under id %s was answered with %d %s", method, id, r.status, r.body)
			}
		}
	}
}
