//go:build e2e

package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheLastSessionEndedByHandTakesItsTokenWithIt: a tmux server that has no session left fails
// most questions about sessions, which must not pass for "no answer, so nothing is known".
func TestTheLastSessionEndedByHandTakesItsTokenWithIt(t *testing.T) {
	f := startFleet(t)
	f.ship(t, "create", "r/only")
	f.ship(t, "activate", "r/only", "--", "sleep", "600")
	socket := filepath.Join(f.sockets(t), "tmux.sock")
	out := f.command(t, "tmux", "-N", "-S", socket, "list-sessions", "-F", "#{FLEET_AGENT_MCP_TOKEN} #{FLEET_AGENT_MCP_URL}")
	token, url, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if got := ping(t, url, token); got != http.StatusOK {
		t.Fatalf("the session's token gets status %d while it lives, want 200", got)
	}

	f.command(t, "tmux", "-N", "-S", socket, "kill-session")
	// The ship looks once a second; the promise is two, and this machine may be busy.
	got := http.StatusOK
	for deadline := time.Now().Add(10 * time.Second); got == http.StatusOK && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		got = ping(t, url, token)
	}
	if got != http.StatusUnauthorized {
		t.Errorf("the token of a session that is gone gets status %d, want 401", got)
	}
	if w := f.status(t)["r/only"]; w.Active {
		t.Errorf("ship status shows %+v, want it not active", w)
	}
}

// ping asks the MCP endpoint for a sign of life and gives the HTTP status.
func ping(t *testing.T, url, token string) int {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}
