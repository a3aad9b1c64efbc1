package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestInitializeAgreesOnEachLegacyRevision(t *testing.T) {
	p := open(t)
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1900-01-01": "2025-11-25", "2030-01-01": "2025-11-25",
	} {
		g := p.post(alpha, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, asked))
		var answer struct {
			Result struct {
				ProtocolVersion string
				ServerInfo      struct{ Name, Version string }
				Instructions    string
				Capabilities    map[string]any
			}
		}
		if err := json.Unmarshal([]byte(g.body), &answer); err != nil {
			t.Fatal(err)
		}
		r := answer.Result
		if r.ProtocolVersion != want || r.ServerInfo.Name != "fleet-agent" || r.ServerInfo.Version != "1.2.3" {
			t.Errorf("%s: %s, want %s of fleet-agent 1.2.3", asked, g.body, want)
		}
		if !strings.Contains(r.Instructions, "agent_init first") || !strings.Contains(r.Instructions, "awaiting before you ask") || len(r.Capabilities) != 1 || r.Capabilities["tools"] == nil {
			t.Errorf("%s: instructions %q, capabilities %v", asked, r.Instructions, r.Capabilities)
		}
		if g.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: a session was minted", asked)
		}
	}
}

func TestAModernClientDiscoversTheServer(t *testing.T) {
	p := open(t)
	g := p.modern(alpha, `"d"`, "server/discover", "{}")
	var answer struct {
		Result struct {
			SupportedVersions []string
			Instructions      string
			ResultType        string
			TTLMs             *int
			CacheScope        string
			Meta              map[string]struct{ Name string } `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(g.body), &answer); err != nil || g.status != 200 {
		t.Fatalf("%d %s: %v", g.status, g.body, err)
	}
	r := answer.Result
	if want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}; !slices.Equal(r.SupportedVersions, want) {
		t.Errorf("versions %v, want %v", r.SupportedVersions, want)
	}
	if r.ResultType != "complete" || r.TTLMs == nil || r.CacheScope != "private" || r.Instructions == "" || r.Meta["io.modelcontextprotocol/serverInfo"].Name != "fleet-agent" {
		t.Errorf("%s lacks what a modern result carries", g.body)
	}
}

func TestResultsCarryWhatTheirEraAsksFor(t *testing.T) {
	p := open(t)
	marks := []string{`"resultType":"complete"`, `"io.modelcontextprotocol/serverInfo":{"name":"fleet-agent","version":"1.2.3"}`}
	cache := []string{`"ttlMs":`, `"cacheScope":"private"`}
	list, call := p.modern(alpha, "1", "tools/list", "{}"), p.modern(alpha, "1", "tools/call", `{"name":"agent_status_get"}`)
	for _, mark := range marks {
		if !strings.Contains(list.body, mark) || !strings.Contains(call.body, mark) {
			t.Errorf("a modern result lacks %s", mark)
		}
	}
	for _, mark := range cache {
		if !strings.Contains(list.body, mark) || strings.Contains(call.body, mark) {
			t.Errorf("%s belongs to a list and to nothing else", mark)
		}
	}
	legacy := p.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
	for _, mark := range append(append(cache, marks[0]), "_meta") {
		if strings.Contains(legacy, mark) {
			t.Errorf("a legacy result carries %s", mark)
		}
	}
}

func TestMethodsThatAreNotThereAreSaidToBeMissing(t *testing.T) {
	p := open(t)
	for _, method := range []string{"resources/list", "resources/read", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "tasks/list", "subscriptions/listen", "resources/subscribe", "nothing/here", "roots/list", "__proto__"} {
		g := p.post(alpha, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method))
		if id, code, _ := failure(t, g); g.status != 200 || code != -32601 || id != "1" {
			t.Errorf("%s, legacy: %d %s, want 200 and -32601", method, g.status, g.body)
		}
		g = p.modern(alpha, "1", method, `{"name":"x","uri":"x"}`)
		if id, code, _ := failure(t, g); g.status != 404 || code != -32601 || id != "1" {
			t.Errorf("%s, modern: %d %s, want 404 and -32601", method, g.status, g.body)
		}
	}
	for _, removed := range []string{"ping", "initialize"} {
		if g := p.modern(alpha, "1", removed, "{}"); g.status != 404 {
			t.Errorf("%s, modern: %d %s, want 404", removed, g.status, g.body)
		}
	}
	if g := p.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`); g.status != 200 || !strings.Contains(g.body, "-32601") {
		t.Errorf("server/discover, legacy: %d %s, want -32601", g.status, g.body)
	}
}

func TestHeadersAreHeldToTheBody(t *testing.T) {
	p := open(t)
	const caps = `"io.modelcontextprotocol/clientCapabilities":{}`
	meta := func(version string) string {
		return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,%s}`, version, caps)
	}
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"agent_status_get",` + meta + `}}`
	}
	bare := `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"agent_status_get"}}`
	version := func(v string) []string { return []string{"MCP-Protocol-Version", v} }
	method := []string{"Mcp-Method", "tools/call"}
	name := []string{"Mcp-Name", "agent_status_get"}
	all := func(parts ...[]string) []string { return slices.Concat(parts...) }
	cases := map[string]struct {
		body    string
		headers []string
		status  int
		code    int // 0: a result
	}{
		"all right":                      {call(meta("2026-07-28")), all(version("2026-07-28"), method, name), 200, 0},
		"a name in base64":               {call(meta("2026-07-28")), all(version("2026-07-28"), method, []string{"Mcp-Name", "=?base64?YWdlbnRfc3RhdHVzX2dldA==?="}), 200, 0},
		"no version header":              {call(meta("2026-07-28")), all(method, name), 400, -32020},
		"another version header":         {call(meta("2026-07-28")), all(version("2025-11-25"), method, name), 400, -32020},
		"an unknown version header":      {call(meta("2026-07-28")), all(version("1900-01-01"), method, name), 400, -32020},
		"two version headers":            {call(meta("2026-07-28")), all(version("2026-07-28"), version("2026-07-28"), method, name), 400, -32020},
		"no method header":               {call(meta("2026-07-28")), all(version("2026-07-28"), name), 400, -32020},
		"another method header":          {call(meta("2026-07-28")), all(version("2026-07-28"), []string{"Mcp-Method", "tools/list"}, name), 400, -32020},
		"a method header in capitals":    {call(meta("2026-07-28")), all(version("2026-07-28"), []string{"Mcp-Method", "TOOLS/CALL"}, name), 400, -32020},
		"no name header":                 {call(meta("2026-07-28")), all(version("2026-07-28"), method), 400, -32020},
		"another name header":            {call(meta("2026-07-28")), all(version("2026-07-28"), method, []string{"Mcp-Name", "agent_init"}), 400, -32020},
		"a name in broken base64":        {call(meta("2026-07-28")), all(version("2026-07-28"), method, []string{"Mcp-Name", "=?base64?%%?="}), 400, -32020},
		"an unknown version, agreed":     {call(meta("v999.0.0")), all(version("v999.0.0"), method, name), 400, -32022},
		"the oldest version, agreed":     {call(meta("1900-01-01")), all(version("1900-01-01"), method, name), 400, -32022},
		"the oldest, without its name":   {call(meta("1900-01-01")), version("1900-01-01"), 400, -32022},
		"the oldest, without any header": {call(meta("1900-01-01")), nil, 400, -32022},
		"unknown and differing":          {call(meta("v999.0.0")), all(version("v998.0.0"), method, name), 400, -32020},
		"unknown and another method":     {call(meta("v999.0.0")), all(version("v999.0.0"), []string{"Mcp-Method", "ping"}, name), 400, -32020},
		"an unknown header, no _meta":    {bare, version("1999-01-01"), 400, -32022},
		"a modern header, no _meta":      {bare, all(version("2026-07-28"), method, name), 400, -32602},
		"no capabilities":                {call(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), all(version("2026-07-28"), method, name), 400, -32602},
		"a tool that is not there":       {strings.ReplaceAll(call(meta("2026-07-28")), "agent_status_get", "x"), all(version("2026-07-28"), method, []string{"Mcp-Name", "x"}), 400, -32602},
		"a legacy version in _meta":      {call(meta("2025-11-25")), version("2025-11-25"), 200, 0},
		"two legacy versions":            {call(meta("2025-11-25")), version("2025-06-18"), 400, -32020},
		"a legacy client":                {bare, version("2025-06-18"), 200, 0},
		"a legacy client, no header":     {bare, nil, 200, 0},
		"an older session":               {bare, []string{"Mcp-Session-Id", "whatever"}, 200, 0},
		"a resumed stream, legacy":       {bare, []string{"Last-Event-ID", "7"}, 200, 0},
		"a resumed stream, modern":       {call(meta("2026-07-28")), all(version("2026-07-28"), method, name, []string{"Last-Event-ID", "7"}), 200, 0},
		"legacy _meta of another kind":   {call(`"_meta":{"progressToken":1,"claudecode/toolUseId":"x"}`), version("2025-11-25"), 200, 0},
		"a folded key is another key":    {call(`"_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28"}`), nil, 200, 0},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			g := p.post(alpha, c.body, c.headers...)
			if c.code == 0 {
				if toolAnswer(t, g); g.status != c.status {
					t.Errorf("%d, want %d", g.status, c.status)
				}
				return
			}
			if id, code, _ := failure(t, g); g.status != c.status || code != c.code || id != "4" {
				t.Errorf("%d %s, want %d and %d with the id", g.status, g.body, c.status, c.code)
			}
		})
	}
}

func TestAnUnsupportedVersionSaysWhichOnesAre(t *testing.T) {
	p := open(t)
	g := p.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", "1900-01-01", "Mcp-Method", "server/discover")
	var answer struct {
		Error struct {
			Code int
			Data struct {
				Supported []string
				Requested string
			}
		}
	}
	if err := json.Unmarshal([]byte(g.body), &answer); err != nil {
		t.Fatal(err)
	}
	e := answer.Error
	if e.Code != -32022 || e.Data.Requested != "1900-01-01" || len(e.Data.Supported) != 5 || e.Data.Supported[0] != "2026-07-28" {
		t.Errorf("%s, want -32022 with supported and requested", g.body)
	}
}
