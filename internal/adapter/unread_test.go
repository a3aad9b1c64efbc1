package adapter_test

import (
	"net/http"
	"sync/atomic"
	"testing"
)

// A graceful end of the ship showed in calls that were on their way to it just then.
func TestACallThatAnEndingShipDidNotReadIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		marked bool
		sent   int32
	}{"the ship's own 408": {true, 3}, "any other 408": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.id != "1" || count.Add(1) == 3 {
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
