package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// said is a request as a client of one protocol revision sends it.
type said struct {
	body    string
	headers []string
}

// saidIn puts a request into the form of a revision. Before 2025-06-18 there is no version header.
func saidIn(revision, rpcID, method, params string) said {
	if modern(revision) {
		body, headers := modernRequest(rpcID, method, params)
		return said{body, headers}
	}
	s := said{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, rpcID, method, params)}
	if revision >= mcp.ProtocolVersion20250618 {
		s.headers = []string{"MCP-Protocol-Version", revision}
	}
	return s
}

// ask sends a request of a revision to alpha's endpoint.
func (p *port) ask(revision, rpcID, method, params string, headers ...string) got {
	p.t.Helper()
	s := saidIn(revision, rpcID, method, params)
	return p.post(alpha, s.body, append(s.headers, headers...)...)
}

// everyRevision runs a test once for each revision that the server speaks.
func everyRevision(t *testing.T, test func(t *testing.T, revision string)) {
	t.Helper()
	if want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}; !slices.Equal(mcp.ValidProtocolVersions, want) {
		t.Fatalf("the revisions are %v, want %v", mcp.ValidProtocolVersions, want)
	}
	for _, revision := range mcp.ValidProtocolVersions {
		t.Run(revision, func(t *testing.T) { test(t, revision) })
	}
}

// protocolFault is the HTTP status that a revision has for a JSON-RPC error of a request which
// was understood.
func protocolFault(revision string, status int) int {
	if modern(revision) {
		return status
	}
	return http.StatusOK
}

func TestAtEveryRevisionIDsComeBackByteForByte(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		for _, id := range []string{`9007199254740993`, `1.0`, `-0`, `1e3`, `"7"`, `""`, `"\u00e9\/"`} {
			for what, g := range map[string]got{
				"a tool":           p.ask(revision, id, "tools/call", `{"name":"agent_status_get"}`),
				"a list":           p.ask(revision, id, "tools/list", `{}`),
				"an unknown tool":  p.ask(revision, id, "tools/call", `{"name":"nothing"}`),
				"no such method":   p.ask(revision, id, "nothing/here", `{}`),
				"a header differs": p.ask(revision, id, "tools/list", `{}`, "MCP-Protocol-Version", "1999-01-01"),
			} {
				if got := idOf(t, g.body); got != id {
					t.Errorf("%s: id %s came back as %s", what, id, got)
				}
			}
		}
	})
}

func TestAtEveryRevisionUnfitIDsAreRefused(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		for _, id := range []string{`null`, `{}`, `[]`, `true`, `1.5`} {
			g := p.ask(revision, id, "tools/call", `{"name":"agent_status_get"}`)
			if got, code, _ := failure(t, g); g.status != 400 || code != -32600 || got != "" {
				t.Errorf("id %s: %d %s, want 400, -32600 and no id", id, g.status, g.body)
			}
		}
	})
	if n := len(p.events.of("tool.call")); n != 0 {
		t.Errorf("%d tools ran", n)
	}
}

// Whatever a client asks for besides, there is no stream, no session and no notification: nothing
// could reach another client, and nothing that was said last could be lost.
func TestAtEveryRevisionAnAnswerIsOneJSONBody(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		for name, headers := range map[string][]string{
			"a stream preferred": {"Accept", "text/event-stream"},
			"nothing acceptable": {"Accept", "text/html;q=1"},
			"a resumed stream":   {"Accept", "text/event-stream, application/json", "Last-Event-ID", "7"},
			"a session":          {"Mcp-Session-Id", "of-an-older-revision"},
		} {
			s := saidIn(revision, "1", "tools/call", `{"name":"agent_status_get","task":{"ttl":1},"_meta":{}}`)
			s.body = strings.Replace(s.body, `"_meta":{`, `"_meta":{"progressToken":"p",`, 1)
			s.body = strings.Replace(s.body, `"p",}`, `"p"}`, 1)
			g := p.post(alpha, s.body, append(s.headers, headers...)...)
			if c := toolAnswer(t, g); c != (called{"null", false}) {
				t.Errorf("%s: %+v", name, c)
			}
			if g.header.Get("Content-Type") != "application/json" || g.header.Get("Mcp-Session-Id") != "" || strings.Contains(g.body, "notifications/") {
				t.Errorf("%s: %v %s, want one JSON body and no session", name, g.header, g.body)
			}
		}
	})
}

func TestAtEveryRevisionTheVerbsAndTheLimitAreTheSame(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		head := []string{"Authorization", "Bearer " + p.workspaces.token(alpha), "MCP-Protocol-Version", revision, "Mcp-Session-Id", "x", "Last-Event-ID", "7"}
		for _, method := range []string{"GET", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"} {
			g := p.do(p.request(method, alpha.MCPPath(), nil, head...))
			if g.status != 405 || g.header.Get("Allow") != "POST" {
				t.Errorf("%s: %d, Allow %q, want 405 and POST", method, g.status, g.header.Get("Allow"))
			}
		}
		g := p.ask(revision, "1", "tools/call", `{"name":"agent_status_get","x":"`+strings.Repeat("x", 1<<20)+`"}`)
		if id, code, _ := failure(t, g); g.status != 413 || code != -32600 || id != "" {
			t.Errorf("2 MiB: %d %.200s, want 413", g.status, g.body)
		}
		if g := p.ask(revision, "1", "tools/list", `{}`, "Origin", "http://evil.example"); g.status != 403 {
			t.Errorf("a foreign Origin: %d, want 403", g.status)
		}
	})
}

func TestAtEveryRevisionAToolsFailureIsAResult(t *testing.T) {
	far := &forge{}
	p := open(t, func(c *Config) { c.Repository = far })
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		for name, c := range map[string]struct {
			params, want string
			far          *forge
		}{
			"arguments that do not fit": {`{"name":"agent_status","arguments":{"state":"x","description":"y"}}`, `invalid: "state" must be one of `, nil},
			"an argument too many":      {`{"name":"repo_info","arguments":{"repo":"b"}}`, `invalid: repo_info has no argument "repo": `, nil},
			"the wrong moment":          {`{"name":"agent_status","arguments":{"state":"idle","description":"y"}}`, "conflict: ", nil},
			"an error":                  {`{"name":"repo_info"}`, "internal: the ship met a fault of its own\n", &forge{err: errors.New("a secret")}},
		} {
			far.err = nil
			if c.far != nil {
				far.err = c.far.err
			}
			g := p.ask(revision, "1", "tools/call", c.params)
			if got := toolAnswer(t, g); !got.IsError || !strings.HasPrefix(got.Text, c.want) || strings.Contains(g.body, "secret") {
				t.Errorf("%s: %s, want a result with isError and %q", name, g.body, c.want)
			}
		}
	})
}

func TestAtEveryRevisionProtocolFaultsAreErrors(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		for name, c := range map[string]struct {
			method, params string
			code, status   int
		}{
			"an unknown tool":   {"tools/call", `{"name":"agent_delete"}`, -32602, 400},
			"arguments a list":  {"tools/call", `{"name":"agent_status_get","arguments":[]}`, -32602, 400},
			"an unknown method": {"nothing/here", `{}`, -32601, 404},
			"no resources":      {"resources/list", `{}`, -32601, 404},
			"no subscriptions":  {"subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, -32601, 404},
			"a cursor of a map": {"tools/list", `{"cursor":{}}`, -32602, 400},
		} {
			g := p.ask(revision, "5", c.method, c.params)
			if id, code, _ := failure(t, g); code != c.code || g.status != protocolFault(revision, c.status) || id != "5" {
				t.Errorf("%s: %d %s, want %d and %d", name, g.status, g.body, protocolFault(revision, c.status), c.code)
			}
		}
	})
}

func TestAtEveryRevisionUnfitMessagesAreRefused(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		s := saidIn(revision, "5", "tools/list", `{}`)
		for name, c := range map[string]struct {
			body string
			code int
		}{
			"no method":         {strings.Replace(s.body, `"method":`, `"verb":`, 1), -32600},
			"JSON-RPC 1.0":      {strings.Replace(s.body, `"2.0"`, `"1.0"`, 1), -32600},
			"params a list":     {`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}`, -32602},
			"cut off":           {s.body[:len(s.body)-1], -32700},
			"no UTF-8":          {strings.Replace(s.body, `"2.0"`, "\"2.0\",\"x\":\"\xff\"", 1), -32700},
			"a list of version": {strings.Replace(s.body, `"params":{`, `"params":{"_META":{"io.modelcontextprotocol/protocolVersion":[]},"x":{`, 1) + "}", -32602},
		} {
			g := p.post(alpha, c.body, s.headers...)
			status := http.StatusBadRequest
			if name == "a list of version" { // such a request is of no era, so it is answered as it always was
				status = http.StatusOK
			}
			if _, code, _ := failure(t, g); g.status != status || code != c.code {
				t.Errorf("%s: %d %s, want %d and %d", name, g.status, g.body, status, c.code)
			}
		}
	})
}

func TestAtEveryRevisionTheToolsAreTheSame(t *testing.T) {
	p := open(t)
	var first json.RawMessage
	everyRevision(t, func(t *testing.T, revision string) {
		var answer struct {
			Result struct{ Tools json.RawMessage }
		}
		g := p.in(t).ask(revision, "1", "tools/list", `{}`)
		if err := json.Unmarshal([]byte(g.body), &answer); err != nil || g.status != 200 {
			t.Fatalf("%d %s: %v", g.status, g.body, err)
		}
		if first == nil {
			first = answer.Result.Tools
		}
		if !bytes.Equal(first, answer.Result.Tools) {
			t.Errorf("the tools differ from those of another revision:\n%s", answer.Result.Tools)
		}
		if bytes.Contains(answer.Result.Tools, []byte("outputSchema")) {
			t.Error("a tool promises structured output, and none has any")
		}
		if called := p.in(t).ask(revision, "1", "tools/call", `{"name":"agent_status_get"}`); strings.Contains(called.body, "structuredContent") {
			t.Errorf("%s has structured content, which no schema promised", called.body)
		}
	})
}

func TestAtEveryRevisionNotificationsAreNotAnswered(t *testing.T) {
	p := open(t)
	everyRevision(t, func(t *testing.T, revision string) {
		p := p.in(t)
		for _, method := range []string{"notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed", "tools/call", "nothing/here", "initialize"} {
			s := saidIn(revision, "1", method, `{"name":"agent_init","requestId":1,"arguments":{"model":"m","provider":"p","harness":"h"}}`)
			if g := p.post(alpha, strings.Replace(s.body, `"id":1,`, "", 1), s.headers...); g.status != 202 || g.body != "" {
				t.Errorf("%s: %d %q, want 202 and nothing", method, g.status, g.body)
			}
		}
	})
	if p.workspaces.book.Get(alpha) != nil {
		t.Error("a notification ran a tool")
	}
}
