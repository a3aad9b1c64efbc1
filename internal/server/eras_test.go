package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleet/internal/atlas"
)

const legacyVersion, modernVersion = "2025-11-25", "2026-07-28"

// said posts s to id's endpoint until ctx ends, and gives the answer's body.
func (p *port) said(ctx context.Context, id atlas.ID, s said) string {
	p.t.Helper()
	r := p.request("POST", id.MCPPath(), bytes.NewReader([]byte(s.body)), s.headers...).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer "+p.workspaces.token(id))
	resp, err := p.client.Do(r)
	if err != nil {
		return err.Error() // it was closed
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	_, _ = body.ReadFrom(resp.Body)
	return body.String()
}

func TestTheEraIsChosenForEachRequest(t *testing.T) {
	p := open(t)
	// One kept-alive connection, so that nothing could be remembered of it unseen.
	p.client.Transport.(*http.Transport).MaxConnsPerHost = 1
	isModern := func(g got) bool { return strings.Contains(g.body, `"resultType":"complete"`) }
	for range 3 {
		for _, revision := range []string{modernVersion, "2025-06-18", modernVersion, "2024-11-05", legacyVersion, modernVersion} {
			for method, params := range map[string]string{"tools/list": `{}`, "tools/call": `{"name":"agent_status_get"}`} {
				if g := p.ask(revision, "1", method, params); g.status != 200 || isModern(g) != modern(revision) {
					t.Errorf("%s at %s: %d %.200s", method, revision, g.status, g.body)
				}
			}
			if g := p.ask(revision, "1", "ping", `{}`); g.status != protocolFault(revision, 404) {
				t.Errorf("ping at %s: %d %s", revision, g.status, g.body)
			}
		}
		g := p.post(alpha, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		if !strings.Contains(g.body, `"protocolVersion":"2025-06-18"`) || isModern(g) {
			t.Errorf("an initialize between modern requests: %d %s", g.status, g.body)
		}
	}
}

// What is read as the version is what is served, however often and however the key is written.
func TestTheEraFollowsTheMetaThatIsRead(t *testing.T) {
	p := open(t)
	const mine = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	whole := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
	for name, c := range map[string]struct {
		params  string
		headers []string
		want    string // in the answer
	}{
		"a folded _META":          {`{"_META":` + mine + `}`, whole, `"resultType":"complete"`},
		"the modern one last":     {`{"_meta":{},"_Meta":` + mine + `}`, whole, `"resultType":"complete"`},
		"the modern one first":    {`{"_meta":` + mine + `,"_META":{}}`, whole, `"code":-32602`},
		"modern, without headers": {`{"_META":` + mine + `}`, nil, `"code":-32020`},
		"null":                    {`{"_meta":null}`, nil, `"result":{"tools":`},
		"null in the end":         {`{"_meta":` + mine + `,"_META":null}`, nil, `"result":{"tools":`},
		"in a batch":              {`{"_meta":` + mine + `}`, []string{"batch", ""}, `"code":-32020`},
	} {
		body, headers := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+c.params+`}`, c.headers
		if name == "in a batch" {
			body, headers = "["+body+"]", nil
		}
		if g := p.post(alpha, body, headers...); !strings.Contains(g.body, c.want) {
			t.Errorf("%s: %d %.200s, want %s", name, g.status, g.body, c.want)
		}
	}
}

func TestAnUnsupportedVersionIsRefusedWhateverIsAsked(t *testing.T) {
	p := open(t)
	for _, version := range []string{"1900-01-01", "2024-10-07", "2025-07-01", "2026-07-29", "v999.0.0", "DRAFT-2026-v1", "latest", "2026-07-28 ", "é"} {
		for _, method := range []string{"tools/list", "tools/call", "server/discover", "initialize", "ping", "nothing/here", "subscriptions/listen"} {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":"agent_status_get","_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, version)
			g := p.post(alpha, body, "Mcp-Method", method, "Mcp-Name", "agent_status_get")
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
			if g.status != 400 || e.Code != -32022 || e.Data.Requested != version || len(e.Data.Supported) != 5 || e.Data.Supported[0] != modernVersion {
				t.Errorf("%s in %q: %d %s, want 400, -32022, the five and the one", method, version, g.status, g.body)
			}
		}
	}
	if n := len(p.events.of("tool.call")); n != 0 {
		t.Errorf("%d tools ran", n)
	}
}

func TestANameInBase64IsDecodedBeforeItIsCompared(t *testing.T) {
	const tool = `{"name":"wéi tool","inputSchema":{"type":"object"},
		"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
	run := func(context.Context, Invocation) (Result, error) { return Result{JSON: json.RawMessage("1")}, nil }
	p := open(t, func(c *Config) { c.Tools = []Tool{{Definition: json.RawMessage(tool), Run: run}} })
	s := saidIn(modernVersion, "1", "tools/call", `{"name":"wéi tool"}`)
	for header, ok := range map[string]bool{
		"=?base64?d8OpaSB0b29s?=":      true,
		"=?base64?d8OpaSB0b29s":        false, // a literal, and another one
		"=?base64?d8Opa SB0b29s?=":     false,
		"=?base64?d8OpaSB0b29sIA==?=":  false, // with a blank at its end
		"=?base64?YWdlbnRfc3RhdHVz?=":  false,
		"=?base64?ZDhPcGFTQjBiMjlz?==": false,
		"d8OpaSB0b29s":                 false,
	} {
		g := p.post(alpha, s.body, "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", header)
		if ok && g.status != 200 || !ok && (g.status != 400 || !strings.Contains(g.body, `"code":-32020`)) {
			t.Errorf("Mcp-Name %q: %d %s, want it taken: %t", header, g.status, g.body, ok)
		}
	}
}

func TestCancellingCrossesNoEra(t *testing.T) {
	eras := []string{legacyVersion, modernVersion}
	for _, canceller := range eras {
		for _, victim := range eras {
			for _, how := range []string{"7", `"7"`, "closed"} {
				t.Run(fmt.Sprintf("%s cancels %s by %s", canceller, victim, how), func(t *testing.T) {
					t.Parallel()
					cancelsOnlyItsOwn(t, canceller, victim, how)
				})
			}
		}
	}
}

// cancelsOnlyItsOwn has two clients of one workspace call a tool under one id. One of them cancels
// its call, and the other one's must go on to its end.
func cancelsOnlyItsOwn(t *testing.T, canceller, victim, how string) {
	h := newHeld()
	p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(true)} })
	p.server.toolTimeout = time.Minute
	own, stop := context.WithCancel(t.Context())
	defer stop()
	wait := func(revision string) said { return saidIn(revision, "7", "tools/call", `{"name":"wait"}`) }
	first, second := make(chan string, 1), make(chan string, 1)
	go func() { first <- p.said(own, alpha, wait(canceller)) }()
	h.awaitCalls(t, 1)
	go func() { second <- p.said(t.Context(), alpha, wait(victim)) }()
	h.awaitCalls(t, 2)
	if how == "closed" {
		stop()
		eventually(t, "the closed call ends", func() bool { return h.cancelled(0) })
	} else {
		s := saidIn(canceller, "0", "notifications/cancelled", `{"requestId":`+how+`}`)
		p.said(t.Context(), alpha, said{strings.Replace(s.body, `"id":0,`, "", 1), s.headers})
	}
	if h.cancelled(1) {
		t.Error("the other client's call was cancelled")
	}
	close(h.letGo)
	if answer := <-second; !strings.Contains(answer, "done") {
		t.Errorf("the other client was answered %s", answer)
	}
	if answer := <-first; how != "closed" && !strings.Contains(answer, "done") {
		t.Errorf("a notification ended a call, which only closing its request does: %s", answer)
	}
}

func TestAtEveryRevisionClosingTheRequestEndsARead(t *testing.T) {
	everyRevision(t, func(t *testing.T, revision string) {
		h := newHeld()
		p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(true)} })
		p.server.toolTimeout = time.Minute
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan string, 1)
		go func() { ended <- p.said(ctx, alpha, saidIn(revision, "7", "tools/call", `{"name":"wait"}`)) }()
		h.awaitCalls(t, 1)
		stop()
		<-ended
		eventually(t, "the read ends", func() bool { _, ended := h.count(); return ended == 1 })
	})
}

func TestAtEveryRevisionALateToolIsAnswered(t *testing.T) {
	h := newHeld()
	t.Cleanup(func() { close(h.letGo) })
	for _, readOnly := range []bool{true, false} {
		p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(readOnly)} })
		p.server.toolTimeout = 20 * time.Millisecond
		everyRevision(t, func(t *testing.T, revision string) {
			g := p.in(t).ask(revision, "7", "tools/call", `{"name":"wait"}`)
			if c := toolAnswer(t, g); !c.IsError || idOf(t, g.body) != "7" {
				t.Errorf("readOnly %t: %+v, want a result with isError", readOnly, c)
			}
		})
	}
}

func TestMirroredArgumentsAreHeldToTheirHeaders(t *testing.T) {
	const tool = `{"name":"mirror","inputSchema":{"type":"object","additionalProperties":false,"properties":{
			"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer","x-mcp-header":"Level"}}},
		"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
	run := func(context.Context, Invocation) (Result, error) { return Result{JSON: json.RawMessage("1")}, nil }
	p := open(t, func(c *Config) { c.Tools = []Tool{{Definition: json.RawMessage(tool), Run: run}} })
	for name, c := range map[string]struct {
		arguments string
		headers   []string
		refused   bool
	}{
		"both":                    {`{"region":"eu","level":7}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Level", "7"}, false},
		"in other letters":        {`{"region":"eu"}`, []string{"MCP-PARAM-REGION", "eu"}, false},
		"in base64":               {`{"region":"é"}`, []string{"Mcp-Param-Region", "=?base64?w6k=?="}, false},
		"empty":                   {`{"region":""}`, []string{"Mcp-Param-Region", ""}, false},
		"none":                    {`{}`, nil, false},
		"no arguments at all":     {`null`, nil, false},
		"a header is missing":     {`{"region":"eu"}`, nil, true},
		"a header differs":        {`{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, true},
		"an argument is missing":  {`{}`, []string{"Mcp-Param-Region", "eu"}, true},
		"all arguments missing":   {`null`, []string{"Mcp-Param-Region", "eu"}, true},
		"two headers":             {`{"region":"eu"}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Region", "eu"}, true},
		"broken base64":           {`{"region":"é"}`, []string{"Mcp-Param-Region", "=?base64?w6k?="}, true},
		"another number":          {`{"level":7}`, []string{"Mcp-Param-Level", "8"}, true},
		"the last of two regions": {`{"region":"us","region":"eu"}`, []string{"Mcp-Param-Region", "eu"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, params := p.in(t), `{"name":"mirror","arguments":`+c.arguments+`}`
			g := p.ask(modernVersion, "1", "tools/call", params, c.headers...)
			if !c.refused {
				if got := toolAnswer(t, g); got.IsError {
					t.Errorf("%+v", got)
				}
			} else if _, code, text := failure(t, g); g.status != 400 || code != -32020 || !strings.Contains(text, "Mcp-Param-") {
				t.Errorf("%d %s, want 400 and -32020 with the header's name", g.status, g.body)
			}
			if got := toolAnswer(t, p.ask(legacyVersion, "1", "tools/call", params, c.headers...)); got.IsError {
				t.Errorf("a legacy client knows no such headers: %+v", got)
			}
		})
	}
}
