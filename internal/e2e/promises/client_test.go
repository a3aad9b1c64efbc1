package promises_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// reply is an HTTP answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask is one request to the port. Zero fields are left out.
type ask struct {
	method, path, token, host, origin, body string
	authorization                           string // in place of token
}

// mcpPath is where r/NAME's server is; name must need no escaping.
func mcpPath(name string) string { return "/workspaces/r/" + name + "/mcp" }

// port is the one that the ship is bound to.
func (f *fleet) port(t *testing.T) int {
	t.Helper()
	ship, err := f.info()
	if err != nil {
		t.Fatal(err)
	}
	return ship.Port
}

// http asks the port over a connection of its own.
func (f *fleet) http(t *testing.T, a ask) reply {
	t.Helper()
	return request(t, f.port(t), a)
}

func request(t *testing.T, port int, a ask) reply {
	t.Helper()
	if a.method == "" {
		a.method = http.MethodPost
	}
	req, err := http.NewRequest(a.method, fmt.Sprintf("http://127.0.0.1:%d%s", port, a.path), strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = a.host
	req.Header.Set("Content-Type", "application/json")
	if a.origin != "" {
		req.Header.Set("Origin", a.origin)
	}
	if a.token != "" {
		a.authorization = "Bearer " + a.token
	}
	if a.authorization != "" {
		req.Header.Set("Authorization", a.authorization)
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: shipyard.Patience}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: read the answer: %v", a.method, a.path, err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// call is the JSON-RPC line of a tool call.
func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// opens says whether a token opens r/NAME's server.
func (f *fleet) opens(t *testing.T, name, token string) bool {
	t.Helper()
	return f.http(t, ask{path: mcpPath(name), token: token, body: call("1", "agent_status_get", "{}")}).status == http.StatusOK
}

// within waits for what a channel brings.
func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(shipyard.Patience):
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}
