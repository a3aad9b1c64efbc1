package promises_test

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// A SIGHUP that came while a ship took over the sessions ended it.
func TestAHangupBeforeAShipIsReadyDoesNotEndIt(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one")
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port(t)))
	f.daemon.Stop(t)
	d := f.start(t)
	listens := func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	if !shipyard.PollEvery(time.Millisecond, listens) {
		t.Fatalf("the ship does not listen; it said: %s", d.Said())
	}
	shipyard.PollEvery(time.Millisecond, func() bool {
		if !d.Over() {
			d.Signal(t, syscall.SIGHUP)
		}
		return d.Over() || strings.Contains(d.Said(), "msg=ready")
	})
	d.AwaitReady(t)
	f.unharmed(t, "one", tokens["one"])
}
