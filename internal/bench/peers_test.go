package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestThePeersServe builds our own peers and has each do what it is measured at.
func TestThePeersServe(t *testing.T) {
	b := &bench{dir: t.TempDir(), progress: io.Discard}
	b.bin = filepath.Join(b.dir, "bin")
	if out, err := exec.Command("go", "build", "-o", b.bin+"/", "./peers/...").CombinedOutput(); err != nil {
		t.Fatalf("go build ./peers/...: %v\n%s", err, out)
	}
	answer := filepath.Join(b.dir, "answer")
	const canned = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"null"}]}}`
	if err := os.WriteFile(answer, []byte(canned), 0o600); err != nil {
		t.Fatal(err)
	}
	bare := serve(t, b.program("bare", "-answer", answer))

	t.Run("the forwarder answers one by one and many at once", func(t *testing.T) {
		f := b.program("forwarder")
		f.env = append(f.env, "FLEET_AGENT_MCP_URL=http://"+bare+"/workspaces/r/w/mcp")
		h, took, err := f.attach(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer h.end()
		times, err := h.sequential(5)
		if err != nil || len(times) != 5 || took <= 0 {
			t.Errorf("five calls took %v, %v; start %v", times, err, took)
		}
		if rate, err := h.inFlight(200, width); err != nil || rate <= 0 {
			t.Errorf("inFlight(200, %d) = %v/s, %v", width, rate, err)
		}
	})
	t.Run("the bare handler answers what it was given", func(t *testing.T) {
		for name, got := range answers(t, request{bare, "/canned", "", getStatus}) {
			if got != canned {
				t.Errorf("POST /canned by %s clients answers %s, want %s", name, got, canned)
			}
		}
	})
	for _, library := range []string{"gosdk", "mcpgo"} {
		t.Run(library+" answers with the tool's text, to its token alone", func(t *testing.T) {
			peer := serve(t, b.program(library, "-text", answer, "-token", "good"))
			for name, got := range answers(t, request{peer, "/", "good", getStatus}) {
				if !strings.Contains(got, `\"text\":\"null\"`) {
					t.Errorf("the tool answers %s clients with %s, want the text of its file", name, got)
				}
			}
			refused := usualClients(request{peer, "/", "bad", getStatus}, 2)
			defer refused.close()
			if calls, _, err := refused.run(time.Second); err == nil || calls > 0 {
				t.Errorf("with another token %d calls went well: %v", calls, err)
			}
		})
	}
}

func serve(t *testing.T, p program) (address string) {
	t.Helper()
	d, address, _, err := p.serve(context.Background(), ":")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	return address
}

// answers gives what either kind of client gets, after some calls on the same connection.
func answers(t *testing.T, r request) map[string]string {
	t.Helper()
	lean, err := leanClients(t.Context(), r, 1)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, c := range map[string]*clients{"lean": lean, "usual": usualClients(r, 1)} {
		defer c.close()
		if calls, took, err := c.run(10 * time.Millisecond); err != nil || calls == 0 || took <= 0 {
			t.Fatalf("%s clients made %d calls in %v: %v", name, calls, took, err)
		}
		body, err := c.calls[0]()
		if err != nil {
			t.Fatalf("%s client: %v", name, err)
		}
		out[name] = string(body)
	}
	return out
}
