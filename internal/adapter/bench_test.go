package adapter_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fleet/internal/adapter"
	"fleet/internal/atlas"
	"fleet/internal/token"
)

// BenchmarkForward is one call's way through an adapter in this process, to an HTTP server that
// answers at once, and back: one after the other, and with 32 in flight.
func BenchmarkForward(b *testing.B) {
	for _, width := range []int{1, 32} {
		b.Run(fmt.Sprintf("%d in flight", width), func(b *testing.B) {
			in, out := forwarding(b)
			line := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"agent_status_get","arguments":{}}}` + "\n")
			b.ReportAllocs()
			waiting := 0
			for b.Loop() {
				if _, err := in.Write(line); err != nil {
					b.Fatal(err)
				}
				if waiting++; waiting < width {
					continue
				}
				forwarded(b, out)
				waiting--
			}
			for range waiting {
				forwarded(b, out)
			}
		})
	}
}

func forwarded(b *testing.B, out *bufio.Reader) {
	b.Helper()
	if answer, err := out.ReadSlice('\n'); err != nil || !strings.Contains(string(answer), `"id":7`) || !strings.Contains(string(answer), "building") {
		b.Fatalf("the answer is %s, %v", answer, err)
	}
}

// forwarding is a running adapter and the two ends of its pipes.
func forwarding(b *testing.B) (in io.Writer, out *bufio.Reader) {
	b.Helper()
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"state\": \"building\"}"}]}}`)
	}))
	b.Cleanup(far.Close)
	port, err := strconv.Atoi(far.URL[strings.LastIndexByte(far.URL, ':')+1:])
	if err != nil {
		b.Fatal(err)
	}
	id := atlas.ID{Repo: "r", Name: "w"}
	env := map[string]string{"FLEET_AGENT_MCP_TOKEN": token.Mint().Reveal(), "FLEET_AGENT_MCP_URL": far.URL + id.MCPPath()}
	fromHarness, in := io.Pipe()
	answers, toHarness := io.Pipe()
	root := filepath.Join(b.TempDir(), "atlas")
	ended := make(chan int, 1)
	go func() {
		ended <- adapter.Run(context.Background(), adapter.Config{
			In: fromHarness, Out: toHarness, Err: io.Discard,
			Locate:    func() (atlas.Place, error) { return atlas.Place{Root: root, Port: port, ID: id}, nil },
			LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		})
	}()
	b.Cleanup(func() {
		_ = in.(*io.PipeWriter).Close()
		<-ended
	})
	return in, bufio.NewReaderSize(answers, 64<<10)
}
