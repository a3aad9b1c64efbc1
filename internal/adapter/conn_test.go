package adapter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"fleet/internal/atlas"
)

// pair gives both ends of a connection, ours as the transport has it.
func pair(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours.(*conn), theirs
}

// TestNothingIsWrittenToAConnectionThatHasEnded, although a reader waits on it, as net/http's does.
func TestNothingIsWrittenToAConnectionThatHasEnded(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"closed":      func(c net.Conn) { c.Close() },
		"half closed": func(c net.Conn) { c.(*net.TCPConn).CloseWrite() },
		"reset":       func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() },
		"unasked":     func(c net.Conn) { io.WriteString(c, "HTTP/1.1 408 \r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pair(t)
			ours.look.Store(true)
			if n, err := ours.Write([]byte("x")); n != 1 || err != nil {
				t.Fatalf("on a live connection Write gave %d, %v", n, err)
			}
			if _, err := theirs.Read(make([]byte, 1)); err != nil { // else a close resets
				t.Fatal(err)
			}
			end(theirs)
			for deadline := time.Now().Add(5 * time.Second); !ours.ended(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the end was never seen")
				}
			}
			ours.look.Store(true)
			if n, err := ours.Write([]byte("x")); n != 0 || !errors.Is(err, errStale) {
				t.Errorf("Write gave %d, %v; want nothing written and errStale", n, err)
			}
		})
	}
}

// TestAConnectionIsLookedAtOnlyBeforeAFurtherRequest: in the middle of one, an early answer is
// what there is to read.
func TestAConnectionIsLookedAtOnlyBeforeAFurtherRequest(t *testing.T) {
	ours, theirs := pair(t)
	io.WriteString(theirs, "HTTP/1.1 413 \r\n\r\n")
	for deadline := time.Now().Add(5 * time.Second); !ours.ended(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the answer never came")
		}
	}
	if n, err := ours.Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("Write gave %d, %v", n, err)
	}
}

func TestAPortWithoutListenerIsUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var away *unreachableError
	if _, err := dial(t.Context(), "tcp", l.Addr().String()); !errors.As(err, &away) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("dial gave %v, want that it was refused", err)
	}
}

// TestAListenerThatIsGoneIsNotOurs: the connection may be anybody's then.
func TestAListenerThatIsGoneIsNotOurs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	for _, address := range []string{"127.0.0.1:0", ":0", "0.0.0.0:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("passed over %s: %v", address, err)
			continue
		}
		at := l.Addr().(*net.TCPAddr)
		if at.IP.IsUnspecified() {
			at = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.Port}
		}
		if err := checkListener(at); err != nil {
			t.Errorf("our own listener on %s: %v", address, err)
		}
		l.Close()
		var away *unreachableError
		if err := checkListener(at); !errors.As(err, &away) {
			t.Errorf("after its end, the listener on %s: %v", address, err)
		}
	}
}

// TestACallWhoseConnectionEndedUnusedTakesAnother: for one that was dialled for another call and
// never used, net/http repeats no request itself.
func TestACallWhoseConnectionEndedUnusedTakesAnother(t *testing.T) {
	ship := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer ship.Close()
	port := ship.Listener.Addr().(*net.TCPAddr).Port
	var out bytes.Buffer
	s := newSession(Config{Out: &out, Err: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }}.withDefaults())
	s.link = newLink(s.config, atlas.Place{Root: t.TempDir(), Port: port, ID: atlas.ID{Repo: "r", Name: "w"}})
	dials := 0
	s.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if dials++; dials == 1 && err == nil {
			return c, c.(*conn).CloseWrite()
		}
		return c, err
	}
	defer s.transport.CloseIdleConnections()
	c := newCall([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
	c.message = parse(c.line)
	c.ask(c.message.id)
	c.begin(s.root)
	s.serve(c)
	if got := out.String(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" || dials != 2 {
		t.Errorf("after %d dials the answer is %s", dials, got)
	}
}

// TestDrainingTwiceIsHarmless: the last call may end just as the time for it runs out.
func TestDrainingTwiceIsHarmless(t *testing.T) {
	s := newSession(Config{Out: io.Discard, Err: io.Discard}.withDefaults())
	for range 2 {
		select {
		case <-s.drain():
		default:
			t.Error("with nothing in flight, there is something to wait for")
		}
	}
}
