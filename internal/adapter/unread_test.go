package adapter_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A graceful end of the ship showed in calls that were on their way to it just then, and a crowded one
// in those that it told so three times within 60 ms.
func TestACallThatAnEndingShipDidNotReadIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		marked bool
		sent   int32
	}{"the ship's own 408": {true, 2}, "the ship's own 408 again and again": {true, 6}, "any other 408": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.id != "1" || count.Add(1) == c.sent && c.marked {
					result(w, r, p)
					return
				}
				if c.marked {
					w.Header().Set("Fleet-Unread", "1")
				}
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusRequestTimeout)
			})
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(call("1"))
			if c.marked {
				h.want(answered("1"))
			} else {
				h.fault("1", -32603, "408")
			}
			h.end()
			if n := count.Load(); n != c.sent {
				t.Errorf("the call was sent %d times, want %d", n, c.sent)
			}
		})
	}
}

// A long call goes in several writes, and one that a graceful end cut off between them was answered
// with the error that it may have been done.
func TestACallThatWasCutOffBeforeItsLastByteIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cuts  int32
		fails string
	}{
		"by a ship that ends": {cuts: 2},
		"again and again":     {cuts: 1000, fails: "before it had read the 16777"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			f := newFar(t, nil)
			f.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength < 1<<20 {
					f.handle(w, r)
					return
				}
				if count.Add(1) > c.cuts {
					_, _ = io.Copy(io.Discard, r.Body)
					status(200, "application/json", answered("1"))(w, r, posted{})
					return
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			})
			h := newWorkspace(t, f.port()).startPlain(t)
			h.sendLine(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"t":"` + strings.Repeat("x", 16<<20) + `"}}`)
			if c.fails == "" {
				h.want(answered("1"))
			} else {
				h.fault("1", -32603, c.fails)
			}
			h.end()
			if n := count.Load(); n != 3 {
				t.Errorf("the call was sent %d times, want 3", n)
			}
		})
	}
}
