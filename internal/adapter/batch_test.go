package adapter_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestABatchRightBehindAnInitializeIsJudgedByItsAnswer, which comes only after the batch was read.
func TestABatchRightBehindAnInitializeIsJudgedByItsAnswer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][]string{
		"2025-03-26": {"[" + answered("1") + "]"},
		"2025-06-18": {`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"this revision of MCP has no batches; send one message a line"}}`},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			read := make(chan struct{})
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				switch {
				case strings.HasPrefix(p.body, "["):
					json200("["+answered("1")+"]")(w, r, p)
				case p.method == "initialize":
					<-read
					negotiating(version)(w, r, p)
				default:
					result(w, r, p)
				}
			})
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(initialize("0"), "["+call("1")+"]", "junk")
			h.fault("null", -32700, "") // so the batch before it was read
			close(read)
			h.line()
			h.want(want...)
			h.alive()
			h.end()
		})
	}
}

// TestWhatIsNoMessageInABatchIsAnsweredToo, under its id if it has one; a client that waits for
// something is not left waiting.
func TestWhatIsNoMessageInABatchIsAnsweredToo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batch string
		ids   []string
	}{
		"an id and no method": {`[{"jsonrpc":"2.0","id":5}]`, []string{"5"}},
		"no object":           {`[7,[]]`, []string{"null"}},
		"an id that is none":  {`[{"jsonrpc":"2.0","id":null,"method":"ping"}]`, []string{"null"}},
		"beside a request":    {`[7,` + call("1") + `]`, []string{"1"}},
		"a response":          {`[{"jsonrpc":"2.0","id":5,"result":{}}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, nil)
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(c.batch)
			for _, id := range c.ids {
				h.fault(id, -32600, "batch")
			}
			h.alive()
			h.end()
		})
	}
}

// TestOutsideAWorkspaceABatchWithoutRequestsGetsNoAnswer: JSON-RPC 2.0 §6 has no empty array.
func TestOutsideAWorkspaceABatchWithoutRequestsGetsNoAnswer(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), []string{"HOME=/nonexistent"})
	h.sendLine(strings.Replace(initialize("0"), "2025-06-18", "2025-03-26", 1))
	h.line()
	h.sendLine(`[{"jsonrpc":"2.0","method":"notifications/x"}]`, `[{"jsonrpc":"2.0","id":5}]`)
	if line := h.line(); !strings.HasPrefix(line, `[{"jsonrpc":"2.0","id":5,"error":{"code":-32600`) {
		t.Errorf("got %s", line)
	}
	h.end()
}
