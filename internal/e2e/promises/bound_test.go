package promises_test

import (
	"net/http"
	"strings"
	"testing"
)

// refusal checks that an answer is a JSON-RPC error body under want.
func (r reply) refusal(t *testing.T, what string, want int) {
	t.Helper()
	if r.status != want || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s = %d with Content-Type %q, want %d and application/json; body: %s", what, r.status, r.header.Get("Content-Type"), want, r.body)
		return
	}
	if m := parse(t, r.body); m.Error == nil || m.Error.Code == 0 || m.Error.Message == "" || m.ID != nil && string(m.ID) != "null" {
		t.Errorf("%s = %s, want a JSON-RPC error without an id", what, r.body)
	}
}

func TestATokenOpensOneWorkspace(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	one, two := f.token(t, "one"), f.token(t, "two")
	body := call("1", "agent_status_get", "{}")
	if !f.opens(t, "one", one) || !f.opens(t, "two", two) {
		t.Fatal("a workspace's own token does not open it")
	}
	first := f.http(t, ask{path: mcpPath("one"), token: two, body: body})
	first.refusal(t, "a sibling's token", http.StatusForbidden)
	for what, path := range map[string]string{
		"a workspace that is not there":  mcpPath("none"),
		"a repository that is not there": "/workspaces/none/one/mcp",
		"a slash that is escaped":        "/workspaces/r/two%2F..%2Fone/mcp",
		"dots that are escaped":          "/workspaces/r/%2e%2e/mcp",
		"another case":                   "/workspaces/r/TWO/mcp",
		"a blank behind it":              "/workspaces/r/two%20/mcp",
	} {
		r := f.http(t, ask{path: path, token: two, body: body})
		r.refusal(t, what, http.StatusForbidden)
		if r.body != first.body {
			t.Errorf("%s = %s, want what an existing sibling gives: %s", what, r.body, first.body)
		}
	}
}

func TestTokensThatOpenNothingLookTheSame(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	good, revoked, rotated := f.token(t, "one"), f.token(t, "two"), f.token(t, "one")
	f.must(t, "deactivate", "r/two")
	f.must(t, "token", "rotate", "r/one")
	if !f.opens(t, "one", f.token(t, "one")) || f.opens(t, "one", rotated) {
		t.Fatal("after a rotation the new token opens nothing, or the old one something")
	}
	body := call("1", "agent_status_get", "{}")
	first := f.http(t, ask{path: mcpPath("one"), body: body})
	for what, q := range map[string]ask{
		"no token":               {},
		"an unknown token":       {token: "fleet_" + strings.Repeat("A", 43)},
		"a token of a dead one":  {token: revoked},
		"a rotated token":        {token: rotated},
		"half a token":           {token: good[:20]},
		"too long a token":       {token: good + "A"},
		"another scheme":         {authorization: "Basic " + good},
		"a token without scheme": {authorization: good},
		"an empty bearer":        {authorization: "Bearer "},
		"rubbish":                {token: `"; DROP`},
	} {
		for _, path := range []string{mcpPath("one"), mcpPath("two"), mcpPath("none")} {
			q.path, q.body = path, body
			r := f.http(t, q)
			r.refusal(t, what, http.StatusUnauthorized)
			if r.body != first.body || r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s on %s = %s with WWW-Authenticate %q, want %s and Bearer", what, path, r.body, r.header.Get("WWW-Authenticate"), first.body)
			}
		}
	}
}

func TestThePortTurnsAwayWhatIsNotAPostFromThisMachine(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	tok, path, body := f.token(t, "one"), mcpPath("one"), call("1", "agent_status_get", "{}")
	for what, q := range map[string]ask{
		"a web page":       {origin: "http://evil.example"},
		"an opaque origin": {origin: "null"},
		"a rebound name":   {host: "evil.example"},
		"a like name":      {host: "localhost.evil.example:4700"},
		"a LAN address":    {host: "192.168.1.1"},
	} {
		q.path, q.token, q.body = path, tok, body
		f.http(t, q).refusal(t, what, http.StatusForbidden)
		q.path, q.method = "/healthz", http.MethodGet
		if r := f.http(t, q); r.status != http.StatusForbidden {
			t.Errorf("%s on /healthz = %d, want 403", what, r.status)
		}
	}
	for what, q := range map[string]ask{
		"localhost": {host: "localhost"}, "a local page": {origin: "http://localhost:3000"}, "IPv6": {host: "[::1]:1"},
	} {
		q.path, q.token, q.body = path, tok, body
		if r := f.http(t, q); r.status != http.StatusOK {
			t.Errorf("%s = %d %s, want 200", what, r.status, r.body)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodPut, http.MethodOptions, http.MethodPatch, "BREW"} {
		for what, token := range map[string]string{"with a token": tok, "without one": ""} {
			r := f.http(t, ask{method: method, path: path, token: token})
			if r.header.Get("Allow") != "POST" {
				t.Errorf("%s %s: Allow = %q, want POST", method, what, r.header.Get("Allow"))
			}
			if method == http.MethodHead {
				r.body = `{"jsonrpc":"2.0","error":{"code":-1,"message":"HEAD has no body"}}`
			}
			r.refusal(t, method+" "+what, http.StatusMethodNotAllowed)
		}
	}
	big := call("1", "agent_status", `{"state":"building","description":"`+strings.Repeat("x", 2<<20)+`"}`)
	f.http(t, ask{path: path, token: tok, body: big}).refusal(t, "2 MiB", http.StatusRequestEntityTooLarge)
	f.http(t, ask{path: path, token: tok, body: "{"}).refusal(t, "half a message", http.StatusBadRequest)
	if r := f.http(t, ask{path: "/.well-known/oauth-protected-resource", method: http.MethodGet}); r.status != http.StatusNotFound {
		t.Errorf("/.well-known/… = %d, want 404", r.status)
	}
}

// A harness sees each refusal as the answer to its own request.
func TestRefusalsReachAHarnessUnderItsOwnID(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	big := a.ask(t, call(`"big"`, "agent_status", `{"state":"building","description":"`+strings.Repeat("x", 2<<20)+`"}`))
	if string(big.ID) != `"big"` || big.Error == nil || big.Error.Data.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("2 MiB through agent-mcp = %.600s, want an error under its id that names 413", big.raw)
	}
	a.call(t, "agent_status_get", "{}").ok(t)
	f.must(t, "deactivate", "r/one")
	gone := a.ask(t, call("9007199254740993", "agent_status_get", "{}"))
	if string(gone.ID) != "9007199254740993" || gone.Error == nil || !strings.Contains(gone.Error.Message, "ship activate r/one") {
		t.Errorf("a revoked token through agent-mcp = %s, want an error under its id that says ship activate r/one", gone.raw)
	}
	f.must(t, "activate", "r/one", "--", "sleep", "1000")
	a.call(t, "agent_status_get", "{}").ok(t)
}

// TestNothingReachesASiblingWhoseTokenAnAgentHolds starts the adapter in one workspace with what
// another one's session holds.
func TestNothingReachesASiblingWhoseTokenAnAgentHolds(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	foreign := f.sessionEnv(t, "two")
	for what, env := range map[string][]string{
		"its token":         {"FLEET_AGENT_MCP_TOKEN=" + foreign["FLEET_AGENT_MCP_TOKEN"]},
		"its token and URL": {"FLEET_AGENT_MCP_TOKEN=" + foreign["FLEET_AGENT_MCP_TOKEN"], "FLEET_AGENT_MCP_URL=" + foreign["FLEET_AGENT_MCP_URL"]},
	} {
		a := startAdapter(t, f.path("one"), append(scrubbed(f), env...))
		m := a.ask(t, call("7", "agent_init", `{"model":"stray","provider":"p","harness":"h"}`))
		if string(m.ID) != "7" {
			t.Errorf("with %s: agent_init was answered with %s, want id 7", what, m.raw)
		}
		if code, rest := a.end(t); code != 0 || len(rest) > 0 {
			t.Errorf("with %s: agent-mcp ended with %d and %q more", what, code, rest)
		}
	}
	two := f.workspaces(t)["two"]
	if two.Agent != nil || two.Observed.LastCallAt != nil || two.Observed.MCPSeen == nil || *two.Observed.MCPSeen {
		t.Errorf("the sibling shows an agent or a call: %+v", two)
	}
	if !strings.Contains(f.must(t, "events", "--type", "auth.refused", "--json"), "other_workspace") {
		t.Error("no auth.refused event: the sibling's token was never tried, so this test saw nothing")
	}
}
