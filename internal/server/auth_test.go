package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/token"
)

// sent is all of a response that a client can tell from another.
func (g got) sent() string {
	h := maps.Clone(map[string][]string(g.header))
	delete(h, "Date")
	var out strings.Builder
	_ = http.Header(h).Write(&out)
	return http.StatusText(g.status) + "\n" + out.String() + g.body
}

func (p *port) knock(path string, authorization ...string) got {
	p.t.Helper()
	r := p.request("POST", "/", strings.NewReader(statusGet))
	r.URL.Opaque = path
	r.Header["Authorization"] = authorization
	return p.do(r)
}

func TestRequestsWithoutAGoodTokenAllLookTheSame(t *testing.T) {
	p := open(t)
	revoked := p.workspaces.token(beta)
	p.workspaces.deactivate(beta)
	gone := atlas.ID{Repo: "widgets", Name: "gone"} // its token still stands, its session does not
	goneToken := token.Mint()
	p.workspaces.tokens.Add(goneToken, gone)
	good := p.workspaces.token(alpha)
	cases := map[string][]string{
		"missing":          nil,
		"empty":            {""},
		"no token":         {"Bearer"},
		"blank token":      {"Bearer "},
		"unknown":          {"Bearer " + token.Mint().Reveal()},
		"revoked":          {"Bearer " + revoked},
		"inactive":         {"Bearer " + goneToken.Reveal()},
		"malformed":        {"Bearer fleet_x"},
		"cut":              {"Bearer " + good[:len(good)-1]},
		"with a tail":      {"Bearer " + good + "x"},
		"another scheme":   {"Basic " + good},
		"without a scheme": {good},
		"twice":            {"Bearer " + good, "Bearer " + good},
		"unexpanded":       {"Bearer ${FLEET_AGENT_MCP_TOKEN}"},
	}
	want := p.knock(alpha.MCPPath())
	if failure(t, want); want.status != 401 || want.header.Get("WWW-Authenticate") != "Bearer" {
		t.Fatalf("no token: %d %v, want 401 and the scheme", want.status, want.header)
	}
	for _, says := range []string{"FLEET_AGENT_MCP_TOKEN", "if it was rotated, start the harness anew in a new window of the session"} {
		if _, _, text := failure(t, want); !strings.Contains(text, says) {
			t.Errorf("the answer %q lacks %q", text, says)
		}
	}
	for name, authorization := range cases {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{alpha.MCPPath(), beta.MCPPath(), gone.MCPPath(), "/workspaces/no/where/mcp", "/workspaces/%2e%2e/x/mcp"} {
				if g := p.knock(path, authorization...); g.sent() != want.sent() {
					t.Errorf("%s: got\n%s\nwant\n%s", path, g.sent(), want.sent())
				}
			}
		})
	}
}

func TestAGoodTokenOpensItsOwnPathAlone(t *testing.T) {
	p := open(t)
	good := "Bearer " + p.workspaces.token(alpha)
	for _, authorization := range []string{good, "bearer" + good[6:], "BEARER  " + p.workspaces.token(alpha)} {
		if g := p.knock(alpha.MCPPath(), authorization); g.status != 200 {
			t.Errorf("%.8s…: %d %s, want 200", authorization, g.status, g.body)
		}
	}
	want := p.knock(beta.MCPPath(), good)
	if failure(t, want); want.status != 403 {
		t.Fatalf("a sibling: %d %s, want 403", want.status, want.body)
	}
	for _, path := range []string{
		"/workspaces/no/where/mcp", "/workspaces/widgets/Main/mcp", "/workspaces/Widgets/main/mcp", "/workspaces/widgets/main%20/mcp",
		"/workspaces/widgets%2Fmain/x/mcp", "/workspaces/widgets/main%2F/mcp", "/workspaces/widgets/%2e%2e/mcp", "/workspaces/../main/mcp",
		"/workspaces/widgets/..%2Fmain/mcp", "/workspaces/widgets/main%00/mcp", "/workspaces/widgets/%ff/mcp", "/workspaces/widgets/main%5c/mcp",
		"/workspaces/widgets/%256dain/mcp", "/workspaces/%7Brepo%7D/%7Bname%7D/mcp", "/workspaces/*/main/mcp", "/workspaces/widgets;x/main/mcp",
	} {
		if g := p.knock(path, good); g.sent() != want.sent() {
			t.Errorf("%s: got\n%s\nwant\n%s", path, g.sent(), want.sent())
		}
	}
	for _, path := range []string{"/workspaces/widgets//mcp", "/workspaces/widgets/main//mcp", "/workspaces/x/../widgets/main/mcp", "//workspaces/widgets/main/mcp"} {
		if g := p.knock(path, good); g.status != 404 && g.status != 403 {
			t.Errorf("%s: %d %s, want nothing", path, g.status, g.body)
		}
	}
}

func TestEverySpellingOfAWorkspacesOwnPathIsItsOwn(t *testing.T) {
	p := open(t)
	for _, name := range []string{"fix a.b", "é", "%41", "a+b", "a;b", "[x]", "{repo}", "#(cmd)", "a!b", "?q", "A"} {
		id := atlas.ID{Repo: "r " + name, Name: name}
		p.workspaces.activate(id)
		if g := p.post(id, statusGet); g.status != 200 {
			t.Errorf("%q at %s: %d %s, want 200", name, id.MCPPath(), g.status, g.body)
		}
	}
	if g := p.knock("/workspaces/%77idgets/m%61in/mcp", "Bearer "+p.workspaces.token(alpha)); g.status != 200 {
		t.Errorf("escapes that need not be: %d %s, want 200", g.status, g.body)
	}
	percent := atlas.ID{Repo: "r %41", Name: "%41"}
	if g := p.knock("/workspaces/r%20A/A/mcp", "Bearer "+p.workspaces.token(percent)); g.status != 403 {
		t.Errorf("the token of %q opened A: %d", "%41", g.status)
	}
}

func TestRefusalsAreLoggedWithoutTheTokenAndNotWithoutEnd(t *testing.T) {
	p := open(t)
	unknown := token.Mint().Reveal()
	for range 100 {
		p.knock(alpha.MCPPath(), "Bearer "+unknown)
		p.knock(beta.MCPPath(), "Bearer "+p.workspaces.token(alpha))
	}
	reasons := map[string]int{}
	for _, e := range p.events.of("auth.refused") {
		reasons[e.Reason]++
		if e.Reason == reasonElsewhere && (e.Repo != alpha.Repo || e.Workspace != alpha.Name) {
			t.Errorf("%s names %s/%s, want whose token it was", e.Reason, e.Repo, e.Workspace)
		}
	}
	if want := map[string]int{reasonBadToken: throttleBurst, reasonElsewhere: throttleBurst}; !maps.Equal(reasons, want) {
		t.Errorf("events %v, want %v", reasons, want)
	}
	if strings.Contains(p.log.String(), unknown) || strings.Contains(p.log.String(), p.workspaces.token(alpha)) {
		t.Error("a token stands in the log")
	}
}

func TestARefusalSaysWhetherThereWasAToken(t *testing.T) {
	p := open(t)
	for _, authorization := range [][]string{nil, {"Basic x"}, {"Bearer fleet_x"}, {"Bearer " + token.Mint().Reveal()}} {
		p.knock(alpha.MCPPath(), authorization...)
	}
	var reasons []string
	for _, e := range p.events.of("auth.refused") {
		reasons = append(reasons, e.Reason)
	}
	if want := []string{reasonNoToken, reasonNoToken, reasonBadToken, reasonBadToken}; !slices.Equal(reasons, want) {
		t.Errorf("reasons %v, want %v", reasons, want)
	}
}

func TestAThrottleRecoversWithTime(t *testing.T) {
	var th throttle
	now := time.Unix(1_000_000, 0)
	allowed := func() (n int) {
		for range 100 {
			if th.allow(now) {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, throttleBurst}, {throttleEvery - 1, 0}, {1, 1}, {3*throttleEvery + throttleEvery/2, 3}, {throttleEvery / 2, 1}, {24 * time.Hour, throttleBurst}} {
		now = now.Add(step.after)
		if got := allowed(); got != step.want {
			t.Errorf("after %v more: %d allowed, want %d", step.after, got, step.want)
		}
	}
}

func TestOnlyAValidTokenMarksAWorkspaceAsSeen(t *testing.T) {
	p := open(t)
	p.knock(alpha.MCPPath())
	p.knock(alpha.MCPPath(), "Bearer "+p.workspaces.token(beta))
	if len(p.workspaces.seen) != 0 {
		t.Errorf("seen %v without a valid token", p.workspaces.seen)
	}
	p.post(alpha, statusGet)
	if p.workspaces.seen[alpha] != 1 {
		t.Errorf("seen %v, want alpha once", p.workspaces.seen)
	}
}
