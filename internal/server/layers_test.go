package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"fleet/internal/atlas"
)

const statusGet = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_status_get"}}`

func TestForeignOriginsAndHostsAreTurnedAwayOnEveryRoute(t *testing.T) {
	p := open(t)
	cases := map[string]struct {
		host    string
		origins []string
	}{
		"another site":            {origins: []string{"http://evil.example"}},
		"null":                    {origins: []string{"null"}},
		"empty":                   {origins: []string{""}},
		"two origins":             {origins: []string{"http://localhost", "http://localhost"}},
		"not a site":              {origins: []string{"localhost"}},
		"another scheme":          {origins: []string{"moz-extension://localhost"}},
		"loopback as a subdomain": {origins: []string{"http://localhost.evil.example"}},
		"loopback as a user":      {origins: []string{"http://localhost@evil.example"}},
		"a user at loopback":      {origins: []string{"http://evil.example@localhost"}},
		"a path":                  {origins: []string{"http://localhost/evil"}},
		"foreign host":            {host: "evil.example"},
		"foreign host, our port":  {host: "evil.example:4700"},
		"an address of this LAN":  {host: "192.168.1.4:4700"},
		"every address":           {host: "0.0.0.0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{alpha.MCPPath(), "/healthz", "/readyz", "/", "/.well-known/oauth-protected-resource"} {
				for _, method := range []string{"POST", "GET", "OPTIONS", "BREW"} {
					r := p.request(method, path, strings.NewReader(statusGet), "Authorization", "Bearer "+p.workspaces.token(alpha))
					r.Host = c.host
					r.Header["Origin"] = c.origins
					g := p.do(r)
					if _, code, _ := failure(t, g); g.status != http.StatusForbidden || code != -32600 {
						t.Errorf("%s %s: %d %s, want 403", method, path, g.status, g.body)
					}
				}
			}
		})
	}
	for _, target := range []string{"POST http://evil.example" + alpha.MCPPath(), "CONNECT evil.example:80", "POST /healthz"} {
		resp := p.raw(target+" HTTP/1.1\r\nHost: localhost@evil.example\r\nContent-Length: 0\r\n\r\n", false)
		if resp.StatusCode != 403 && resp.StatusCode != 400 {
			t.Errorf("%s: %d, want a refusal", target, resp.StatusCode)
		}
	}
	if n := len(p.events.of("tool.call")); n != 0 {
		t.Errorf("%d tools ran for foreign callers", n)
	}
}

func TestLoopbackOriginsAndHostsPass(t *testing.T) {
	p := open(t)
	for _, name := range []string{"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "127.0.0.1:1", "localhost:65535", "localhost.:80", "[::1]:4700"} {
		t.Run(name, func(t *testing.T) {
			r := p.request("POST", alpha.MCPPath(), strings.NewReader(statusGet), "Authorization", "Bearer "+p.workspaces.token(alpha))
			r.Host = name
			if g := p.do(r); g.status != 200 {
				t.Errorf("Host %s: %d %s, want 200", name, g.status, g.body)
			}
			for _, scheme := range []string{"http://", "https://"} {
				if g := p.post(alpha, statusGet, "Origin", scheme+name); g.status != 200 {
					t.Errorf("Origin %s%s: %d %s, want 200", scheme, name, g.status, g.body)
				}
			}
		})
	}
}

func TestOnlyPOSTIsTaken(t *testing.T) {
	p := open(t)
	for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "OPTIONS", "PATCH", "TRACE", "BREW"} {
		t.Run(method, func(t *testing.T) {
			g := p.do(p.request(method, alpha.MCPPath(), nil, "Authorization", "Bearer "+p.workspaces.token(alpha), "Accept", "text/event-stream"))
			if g.status != http.StatusMethodNotAllowed || g.header.Get("Allow") != "POST" {
				t.Errorf("%d, Allow %q, want 405 and POST", g.status, g.header.Get("Allow"))
			}
			if method != "HEAD" { // which has no body
				failure(t, g)
			}
		})
	}
}

func TestOtherPathsAreAPlain404(t *testing.T) {
	p := open(t)
	paths := []string{
		"/", "/workspaces", "/mcp", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource" + alpha.MCPPath(),
		"/.well-known/openid-configuration", "/metrics", alpha.MCPPath() + "/", "/workspaces//widgets/main/mcp",
		"/workspaces/x/../widgets/main/mcp", "/v1/activate", alpha.MCPPath() + "/x", "/register",
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "POST", "HEAD", "BREW"} {
			r := p.request(method, "/", strings.NewReader(statusGet), "Authorization", "Bearer "+p.workspaces.token(alpha))
			r.URL.Path, r.URL.RawPath, r.URL.Opaque = "", "", path
			g := p.do(r)
			if g.status != http.StatusNotFound || strings.Contains(g.body, "{") || g.header.Get("Location") != "" {
				t.Errorf("%s %s: %d %q, want a plain 404", method, path, g.status, g.body)
			}
		}
	}
}

func TestADoubledSlashIsNotTheEndpoint(t *testing.T) {
	p := open(t)
	head := strings.Replace(p.head("Content-Length: 0\r\n"), "POST /", "POST //", 1)
	if resp := p.raw(head, false); resp.StatusCode != 404 {
		t.Errorf("%d, want 404", resp.StatusCode)
	}
}

func TestTooLargeBodiesAre413HoweverTheyCome(t *testing.T) {
	p := open(t)
	big := strings.Repeat("x", 2<<20)
	for name, body := range map[string]io.Reader{
		"with its length": strings.NewReader(big),
		"in chunks":       io.MultiReader(strings.NewReader(big)),
		"one byte more":   strings.NewReader(big[:1<<20+1]),
	} {
		t.Run(name, func(t *testing.T) {
			g := p.do(p.request("POST", alpha.MCPPath(), body, "Authorization", "Bearer "+p.workspaces.token(alpha)))
			if _, _, text := failure(t, g); g.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%d %s, want 413", g.status, text)
			}
		})
	}
	fits := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	fits += strings.Repeat(" ", 1<<20-len(fits))
	if g := p.post(alpha, fits); g.status != 200 {
		t.Errorf("a body of exactly 1 MiB: %d %s, want 200", g.status, g.body)
	}
}

// raw writes bytes on a connection and reads what comes back.
func (p *port) raw(send string, halfClose bool) *http.Response {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, send); err != nil {
		p.t.Fatal(err)
	}
	if halfClose {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		p.t.Fatalf("no answer to %.60q: %v", send, err)
	}
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (p *port) head(extra string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n%s\r\n",
		alpha.MCPPath(), p.workspaces.token(alpha), extra)
}

func TestBodiesThatDoNotArriveAreAnswered(t *testing.T) {
	p := open(t)
	cases := map[string]struct {
		send      string
		halfClose bool
		want      int
	}{
		"half closed":                 {p.head("Content-Length: 500\r\n") + `{"jsonrpc":`, true, 400},
		"half closed in chunks":       {p.head("Transfer-Encoding: chunked\r\n") + "5\r\n{\"jso\r\n", true, 400},
		"stalled":                     {p.head("Content-Length: 500\r\n") + `{"jsonrpc":`, false, 408},
		"a length below zero":         {p.head("Content-Length: -1\r\n"), false, 400},
		"chunks that hold too much":   {p.head("Transfer-Encoding: chunked\r\n") + "700000\r\n" + strings.Repeat("x", 0x700000) + "\r\n0\r\n\r\n", false, 413},
		"a length that is far beyond": {p.head("Content-Length: 99999999999\r\n") + "{", true, 413},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if resp := p.in(t).raw(c.send, c.halfClose); resp.StatusCode != c.want {
				t.Errorf("%d, want %d", resp.StatusCode, c.want)
			}
		})
	}
}

func TestOnlyJSONIsTakenAndOnlyJSONIsSent(t *testing.T) {
	p := open(t)
	for kind, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON": 200,
		"text/plain": 415, "": 415, "application/x-www-form-urlencoded": 415, "application/jsonx": 415,
	} {
		r := p.request("POST", alpha.MCPPath(), strings.NewReader(statusGet), "Authorization", "Bearer "+p.workspaces.token(alpha))
		r.Header.Set("Content-Type", kind)
		g := p.do(r)
		if g.status != want {
			t.Errorf("Content-Type %q: %d, want %d", kind, g.status, want)
		}
		if want != 200 {
			failure(t, g)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream", "application/json, text/event-stream", "text/html", ";;"} {
		g := p.post(alpha, statusGet, "Accept", accept)
		if g.status != 200 || g.header.Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q: %d %s, want JSON", accept, g.status, g.header.Get("Content-Type"))
		}
	}
}

func TestAPanicInALayerCostsOneRequest(t *testing.T) {
	p := open(t, func(c *Config) { c.Workspaces = panicky{c.Workspaces.(*memory)} })
	g := p.post(alpha, statusGet)
	_, code, text := failure(t, g)
	if g.status != 500 || code != -32603 || strings.Contains(text, "secret") {
		t.Errorf("%d %s, want 500 and a fixed text", g.status, g.body)
	}
	if log := p.log.String(); !strings.Contains(log, "layers_test.go") || !strings.Contains(log, "request=0") {
		t.Errorf("the log lacks the stack or the request's id: %s", log)
	}
	if g := p.do(p.request("GET", "/healthz", nil)); g.status != 200 {
		t.Errorf("after the panic: %d", g.status)
	}
}

type panicky struct{ *memory }

func (panicky) Active(id atlas.ID) bool { panic("secret") }
