package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestHealthSaysThatTheShipServes(t *testing.T) {
	p := open(t)
	if g := p.do(p.request("GET", "/healthz", nil)); g.status != 200 || g.body != "ok\n" {
		t.Errorf("%d %q, want ok", g.status, g.body)
	}
}

func TestHealthAndReadinessAreReadOnly(t *testing.T) {
	p := open(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if g := p.do(p.request("HEAD", path, nil)); g.status != 200 || g.body != "" {
			t.Errorf("HEAD %s: %d %q", path, g.status, g.body)
		}
		for _, method := range []string{"POST", "DELETE", "BREW"} {
			if g := p.do(p.request(method, path, nil)); g.status != 405 || g.header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q, want 405", method, path, g.status, g.header.Get("Allow"))
			}
		}
	}
}

func TestBothLoopbackAddressesServe(t *testing.T) {
	if !haveIPv6() {
		t.Skip("this machine has no IPv6")
	}
	p := open(t)
	port := strings.TrimPrefix(p.base, "http://127.0.0.1:")
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		p.base = "http://" + host + ":" + port
		if g := p.post(alpha, statusGet); g.status != 200 {
			t.Errorf("%s: %d %s", host, g.status, g.body)
		}
	}
}

func haveIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}

func TestAnAddressInAnothersHandsIsAnErrorThatNamesIt(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "::1"} {
		t.Run(address, func(t *testing.T) {
			if address == "::1" && !haveIPv6() {
				t.Skip("this machine has no IPv6")
			}
			other, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			port := other.Addr().(*net.TCPAddr).Port
			l, err := Listen(port)
			if err == nil {
				_ = l.Close()
				t.Fatal("a port in another's hands was opened")
			}
			if want := net.JoinHostPort(address, fmt.Sprint(port)); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `another "port" in atlas.json`) {
				t.Errorf("%v, want %s and what to do", err, want)
			}
			if address == "::1" { // what was opened before it must be free again
				again, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
				if err != nil {
					t.Fatalf("127.0.0.1 is still held: %v", err)
				}
				_ = again.Close()
			}
		})
	}
}

func TestPortZeroIsOnePortForBothAddresses(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, one := range l.all {
		if a := one.Addr().(*net.TCPAddr); a.Port != l.Port() || l.Port() == 0 || !a.IP.IsLoopback() {
			t.Errorf("%v, want loopback and port %d", a, l.Port())
		}
	}
	if haveIPv6() && len(l.all) != 2 {
		t.Errorf("%d sockets, want two", len(l.all))
	}
}

func TestServeLetsRequestsEndAndThenEnds(t *testing.T) {
	t.Parallel()
	h := newHeld()
	p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(false)} })
	p.server.toolTimeout = time.Minute
	answer := make(chan string, 1)
	at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
	go func() {
		body, err := at.send(context.Background(), callWait)
		answer <- fmt.Sprint(body, err)
	}()
	h.awaitCalls(t, 1)
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	eventually(t, "the port is closed", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	select {
	case err := <-ended:
		t.Fatalf("Serve ended with a call in flight: %v", err)
	default:
	}
	h.release(t)
	if got := <-answer; !strings.Contains(got, "done") {
		t.Errorf("the call in flight got %s", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeSaysWhenItsSocketIsLost(t *testing.T) {
	p := open(t)
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.server.Serve(t.Context(), l); err == nil || errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve on a closed socket: %v, want an error", err)
	}
}

func TestClientsThatComeAndGoLeaveNothingBehind(t *testing.T) {
	p := open(t)
	initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	visit := func(n int) {
		for range n {
			if g := p.post(alpha, initialize); g.status != 200 {
				t.Fatalf("%d %s", g.status, g.body)
			}
			p.client.CloseIdleConnections()
		}
	}
	visit(50)
	goroutines, memory := runtime.NumGoroutine(), heap()
	visit(1000)
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	if more := int64(heap()) - int64(memory); more > 1<<20 {
		t.Errorf("1,000 clients left %d bytes behind", more)
	}
}
