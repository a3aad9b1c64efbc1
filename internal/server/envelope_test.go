package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// idOf gives the bytes of the id in an answer.
func idOf(t *testing.T, body string) string {
	t.Helper()
	var answer struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return string(answer.ID)
}

func TestIDsComeBackByteForByte(t *testing.T) {
	p := open(t)
	ids := []string{
		`9007199254740993`, `"7"`, `7`, `0`, `-7`, `-0`, `1.0`, `1e3`, `1E+3`, `10e-1`, `0.0e-9`, `""`, `"<&>é\u00e9\/ \ud800"`,
		`123456789012345678901234567890`, `1e999999999999999999999`, `"` + strings.Repeat("x", 1000) + `"`,
	}
	for _, id := range ids {
		for what, g := range map[string]got{
			"a result":       p.post(alpha, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`),
			"a tool":         p.post(alpha, `{"method":"tools/call","params":{"name":"agent_status_get"},"id":  `+id+` ,"jsonrpc":"2.0"}`),
			"an error":       p.post(alpha, `{"jsonrpc":"2.0","id":`+id+`,"method":"nothing/here"}`),
			"our own error":  p.post(alpha, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"nothing"}}`),
			"an early error": p.post(alpha, `{"jsonrpc":"1.0","id":`+id+`,"method":"ping"}`),
			"a modern one":   p.modern(alpha, id, "tools/list", "{}"),
		} {
			if got := idOf(t, g.body); got != id {
				t.Errorf("%s: id %s came back as %s", what, id, got)
			}
		}
	}
}

func TestUnfitIDsAreRefused(t *testing.T) {
	p := open(t)
	for _, id := range []string{`null`, `{}`, `[]`, `[1]`, `true`, `false`, `1.5`, `15e-1`, `1e-999999999999999999999`, `0.1`} {
		g := p.post(alpha, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"agent_status_get"}}`)
		got, code, _ := failure(t, g)
		if g.status != 400 || code != -32600 || got != "" {
			t.Errorf("id %s: %d %s, want 400, -32600 and no id", id, g.status, g.body)
		}
	}
	if n := len(p.events.of("tool.call")); n != 0 {
		t.Errorf("%d tools ran", n)
	}
}

func TestUnfitMessagesAreRefusedInOurWords(t *testing.T) {
	p := open(t)
	deep := strings.Repeat("[", 20000)
	cases := map[string]struct {
		body string
		code int
		id   string
	}{
		"nothing":               {``, -32700, ""},
		"no JSON":               {`hello`, -32700, ""},
		"half a message":        {`{"jsonrpc":"2.0","id":1`, -32700, ""},
		"two messages":          {`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, -32700, ""},
		"two lines":             {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{}", -32700, ""},
		"a byte order mark":     {"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700, ""},
		"no UTF-8":              {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}", -32700, ""},
		"too deep":              {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep, -32700, ""},
		"a number":              {`7`, -32600, ""},
		"a string":              {`"ping"`, -32600, ""},
		"null":                  {`null`, -32600, ""},
		"an empty object":       {`{}`, -32600, ""},
		"no jsonrpc":            {`{"id":1,"method":"ping"}`, -32600, "1"},
		"another jsonrpc":       {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, "1"},
		"jsonrpc as a number":   {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, -32600, "1"},
		"no method":             {`{"jsonrpc":"2.0","id":5}`, -32600, "5"},
		"an empty method":       {`{"jsonrpc":"2.0","id":5,"method":""}`, -32600, "5"},
		"a method that is none": {`{"jsonrpc":"2.0","id":5,"method":{"x":1}}`, -32600, "5"},
		"null as method":        {`{"jsonrpc":"2.0","id":5,"method":null}`, -32600, "5"},
		"params in a list":      {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}`, -32602, "5"},
		"params as a string":    {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"x"}`, -32602, "5"},
		"params as a number":    {`{"jsonrpc":"2.0","id":5,"method":"ping","params":7}`, -32602, "5"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := p.post(alpha, c.body)
			id, code, text := failure(t, g)
			if g.status != 400 || code != c.code || id != c.id {
				t.Errorf("%d %s, want 400, %d and id %q", g.status, g.body, c.code, c.id)
			}
			for _, dump := range []string{"Go ", "unmarshal", "json:", "mcp.", "struct"} {
				if strings.Contains(text, dump) {
					t.Errorf("%q speaks of our insides", text)
				}
			}
		})
	}
}

func TestUnfitParamsAreRefusedInOurWords(t *testing.T) {
	p := open(t)
	for name, params := range map[string]string{
		"no params":                  `null`,
		"no name":                    `{}`,
		"an empty name":              `{"name":""}`,
		"a name that is a number":    `{"name":7}`,
		"null as name":               `{"name":null}`,
		"a tool that is not there":   `{"name":"agent_delete"}`,
		"another case":               `{"name":"AGENT_INIT"}`,
		"arguments in a list":        `{"name":"agent_status_get","arguments":[]}`,
		"arguments as a string":      `{"name":"agent_status_get","arguments":"{}"}`,
		"arguments as a number":      `{"name":"agent_status_get","arguments":0}`,
		"arguments as false":         `{"name":"agent_status_get","arguments":false}`,
		"_meta that is a list":       `{"name":"agent_status_get","_meta":[]}`,
		"a version that is a number": `{"name":"agent_status_get","_meta":{"io.modelcontextprotocol/protocolVersion":7}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := p.post(alpha, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":`+params+`}`)
			if id, code, text := failure(t, g); g.status != 200 || code != -32602 || id != "5" || strings.Contains(text, "Go ") {
				t.Errorf("%d %s, want 200 and -32602 with the id", g.status, g.body)
			}
		})
	}
	for name, params := range map[string]string{
		"initialize": `{"protocolVersion":7}`, "tools/list": `{"cursor":{}}`,
	} {
		g := p.post(alpha, fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":%q,"params":%s}`, name, params))
		if _, code, text := failure(t, g); code != -32602 || strings.Contains(text, "Go ") || strings.Contains(text, "mcp.") {
			t.Errorf("%s %s: %s, want -32602 in our words", name, params, g.body)
		}
	}
	if n := len(p.events.of("tool.call")); n != 0 {
		t.Errorf("%d tools ran", n)
	}
}

func TestAbsentAndNullArgumentsAreNone(t *testing.T) {
	p := open(t)
	for _, params := range []string{`{"name":"agent_status_get"}`, `{"name":"agent_status_get","arguments":null}`, `{"name":"agent_status_get","arguments":{ }}`} {
		g := p.post(alpha, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":`+params+`}`)
		if c := toolAnswer(t, g); c.IsError || c.Text != "null" {
			t.Errorf("%s: %+v, want null", params, c)
		}
	}
}

func TestDuplicateAndFoldedKeysAreReadOnceForAll(t *testing.T) {
	p := open(t)
	// What is looked at and what is run is the same message, the last one wins, and the id that
	// comes back is the one that was read.
	cases := map[string]struct{ body, want string }{
		"two ids":                {`{"jsonrpc":"2.0","id":1,"method":"ping","ID":2}`, `{"jsonrpc":"2.0","id":2,"result":{}}`},
		"two ids, other order":   {`{"ID":2,"jsonrpc":"2.0","method":"ping","id":1}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"a method in capitals":   {`{"jsonrpc":"2.0","id":1,"method":"nothing","METHOD":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"a result beside it":     {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"escaped keys":           {`{"json\u0072pc":"2.0","\u0069d":3,"m\u0065thod":"p\u0069ng"}`, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		"a folded Kelvin sign":   {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\u212a":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"a second name":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_init","NAME":"agent_status_get"}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"null"}]}}`},
		"params twice":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_init"},"Params":{"name":"agent_status_get"}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"null"}]}}`},
		"a cancel in capitals":   {`{"jsonrpc":"2.0","method":"ping","METHOD":"notifications/cancelled","params":{"requestId":1}}`, ``},
		"a cancel in escapes":    {`{"jsonrpc":"2.0","method":"notifications\/cancelled","params":{"requestId":1}}`, ``},
		"a cancel with an id":    {`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"this server has no method \"notifications/cancelled\""}}`},
		"a null id that is last": {`{"jsonrpc":"2.0","id":1,"method":"ping","iD":null}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"an id must be a string or a whole number"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if g := p.post(alpha, c.body); g.body != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.body, g.body, c.want)
			}
		})
	}
}

func TestNotificationsAndResponsesAreTakenWithoutAnAnswer(t *testing.T) {
	p := open(t)
	for name, body := range map[string]string{
		"initialized": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"cancelled":   `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`,
		"unknown":     `{"jsonrpc":"2.0","method":"notifications/nothing","params":{}}`,
		"a tool call": `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"agent_init","arguments":{"model":"m","provider":"p","harness":"h"}}}`,
		"a response":  `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"an error":    `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
	} {
		for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
			if g := p.post(alpha, body, "MCP-Protocol-Version", version); g.status != 202 || g.body != "" {
				t.Errorf("%s in %s: %d %q, want 202 and nothing", name, version, g.status, g.body)
			}
		}
		g := p.post(alpha, body, "MCP-Protocol-Version", "1999-01-01")
		if _, code, _ := failure(t, g); g.status != 400 || code != -32022 {
			t.Errorf("%s in an unknown version: %d %s, want 400 and -32022", name, g.status, g.body)
		}
		g = p.post(alpha, body, "MCP-Protocol-Version", "2026-07-28")
		if strings.Contains(body, `"id"`) {
			if _, code, _ := failure(t, g); g.status != 400 || code != -32600 {
				t.Errorf("%s, modern: %d %s, want 400 and -32600", name, g.status, g.body)
			}
		} else if g.status != 202 || g.body != "" {
			t.Errorf("%s, modern: %d %q, want 202 and nothing", name, g.status, g.body)
		}
	}
	if p.workspaces.book.Get(alpha) != nil {
		t.Error("a notification ran a tool")
	}
}

func TestBatchesOfTheOneRevisionThatHasThem(t *testing.T) {
	p := open(t)
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	note := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	pong := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	many := func(n int) string { return "[" + strings.Repeat(ping("1")+",", n-1) + ping("1") + "]" }
	cases := map[string]struct {
		body, want string
		status     int
	}{
		"two requests":           {"[" + ping("1") + " , " + ping(`"1"`) + "]", "[" + pong("1") + "," + pong(`"1"`) + "]", 200},
		"notifications left out": {"[" + note + "," + ping("9007199254740993") + "," + note + "]", "[" + pong("9007199254740993") + "]", 200},
		"only notifications":     {"\n [" + note + "," + note + "]\n", "", 202},
		"one that is none":       {"[7," + ping("1") + "]", `[{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be one JSON object"}},` + pong("1") + "]", 200},
		"an initialize":          {`[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]`, `[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"initialize cannot be part of a batch"}}]`, 200},
		"empty":                  {"[]", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch is empty"}}`, 400},
		"unfinished":             {"[" + ping("1"), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"the body is not valid JSON"}}`, 400},
		"something after it":     {"[" + ping("1") + "] x", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"something follows the batch"}}`, 400},
		"too many":               {many(maxBatch + 1), `{"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch holds too many messages; send at most 32"}}`, 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, head := range [][]string{nil, {"MCP-Protocol-Version", "2025-03-26"}} {
				if g := p.post(alpha, c.body, head...); g.status != c.status || g.body != c.want {
					t.Errorf("%v: %d %s\nwant %d %s", head, g.status, g.body, c.status, c.want)
				}
			}
		})
	}
	if g := p.post(alpha, many(maxBatch)); g.status != 200 || strings.Count(g.body, pong("1")) != maxBatch {
		t.Errorf("%d messages: %d %.80s", maxBatch, g.status, g.body)
	}
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"} {
		g := p.post(alpha, "["+ping("1")+"]", "MCP-Protocol-Version", version)
		if _, code, _ := failure(t, g); g.status != 400 || code != -32600 {
			t.Errorf("a batch in %s: %d %s, want 400 and -32600", version, g.status, g.body)
		}
	}
}

func TestABatchCallsItsToolsInOrderAndOnTheirOwn(t *testing.T) {
	p := open(t)
	call := func(id int, tool, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
	}
	g := p.post(alpha, "["+call(1, "agent_init", `{"model":"m","provider":"p","harness":"h"}`)+","+
		call(2, "agent_status", `{"state":"planning","description":"reading"}`)+","+call(3, "agent_status_get", "{}")+"]")
	var answers []struct {
		ID     int
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(g.body), &answers); err != nil || len(answers) != 3 {
		t.Fatalf("%d %s, want three answers", g.status, g.body)
	}
	if last := answers[2]; last.ID != 3 || !strings.Contains(last.Result.Content[0].Text, `"state": "planning"`) {
		t.Errorf("the third call saw %+v, want what the second did", last)
	}
}
