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
		if got := string(one(t, bare, post(bare, "/canned", "", getStatus))); got != canned {
			t.Errorf("POST /canned answers %s, want %s", got, canned)
		}
	})
	t.Run("go-sdk answers with the tool's text, to its token alone", func(t *testing.T) {
		sdk := serve(t, b.program("gosdk", "-text", answer, "-token", "good"))
		if got := string(one(t, sdk, post(sdk, "/", "good", getStatus))); !strings.Contains(got, `\"text\":\"null\"`) {
			t.Errorf("the tool answers %s, want the text of its file", got)
		}
		c, err := dial(t.Context(), sdk, post(sdk, "/", "bad", getStatus), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		if calls, _, err := c.run(time.Second); err == nil {
			t.Errorf("with another token %d calls went well", calls)
		}
	})
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

func one(t *testing.T, address string, request []byte) []byte {
	t.Helper()
	c, err := dial(t.Context(), address, request, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	body, err := c.call(c.conns[0])
	if err != nil {
		t.Fatal(err)
	}
	return body
}
