package adapter_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fleet/internal/adapter"
)

// firstWrite tells when somebody began to write the answer to a call.
type firstWrite struct {
	io.Writer
	once  sync.Once
	begun chan struct{}
}

// Write writes.
func (w *firstWrite) Write(p []byte) (int, error) {
	if strings.Contains(string(p), `"ok":true`) {
		w.once.Do(func() { close(w.begun) })
	}
	return w.Writer.Write(p)
}

// TestAnAnswerThatWaitsToBeWrittenIsCancelledToo: once a cancel was read, the answer doesn't come,
// though the ship's was there before. The harness here reads nothing for a while, so that one
// answer is on its way out and the others wait for it.
func TestAnAnswerThatWaitsToBeWrittenIsCancelledToo(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]func(id string) string{
		"a call":  call,
		"a batch": func(id string) string { return "[" + call(id) + "]" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const calls = 20
			var answered atomic.Int32
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				singly(w, r, p)
				answered.Add(1)
			})
			writing := &firstWrite{begun: make(chan struct{})}
			in, out := inside(t, newWorkspace(t, f.port()), f.port(), func(c *adapter.Config) { writing.Writer, c.Out = c.Out, writing })
			if got := ask(t, in, out, initialize(`"open"`)); !strings.Contains(got, "2025-03-26") {
				t.Fatalf("initialize was answered with %s", got)
			}
			var lines, cancels strings.Builder
			for i := range calls {
				lines.WriteString(line(strconv.Itoa(i)) + "\n")
				cancels.WriteString(cancelled(strconv.Itoa(i)) + "\n")
			}
			for _, text := range []string{lines.String(), cancels.String(), "\n"} {
				if _, err := io.WriteString(in, text); err != nil { // it returns when all before it was taken
					t.Fatal(err)
				}
				eventually(t, "the far end answers every call", func() bool { return answered.Load() == calls+1 })
				<-writing.begun
			}
			if first, err := out.ReadString('\n'); err != nil || !strings.Contains(first, `"result"`) {
				t.Fatalf("the answer that was on its way out: %q, %v", first, err)
			}
			if got := ask(t, in, out, call("100")); !strings.Contains(got, `"id":100`) {
				t.Errorf("after every call was cancelled: %q, want the answer to the next one and no other", got)
			}
		})
	}
}

// singly answers as a ship of revision 2025-03-26 does, to batches of one request too.
func singly(w http.ResponseWriter, r *http.Request, p posted) {
	var batch []struct{ ID json.RawMessage }
	switch {
	case p.method == "initialize":
		negotiating("2025-03-26")(w, r, p)
	case json.Unmarshal([]byte(p.body), &batch) == nil:
		json200("["+answered(string(batch[0].ID))+"]")(w, r, p)
	default:
		result(w, r, p)
	}
}
