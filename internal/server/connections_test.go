package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// crowded is a port that takes n connections.
func crowded(t *testing.T, n int) *port {
	t.Helper()
	p := open(t)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p.server.maxConnections = n
	p.serve()
	return p
}

// dial opens a connection that asks for nothing yet.
func (p *port) dial() net.Conn {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// healthy asks on conn and says whether it was answered.
func healthy(conn net.Conn) bool {
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == 200
}

// isClosed waits for the other side to close conn.
func isClosed(conn net.Conn) bool {
	_, err := io.Copy(io.Discard, conn)
	return err == nil || !strings.Contains(err.Error(), "timeout")
}

// Another user's idle connections used up the ship's files, and tmux calls failed.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	p := crowded(t, 8)
	var idle []net.Conn
	for i := range 40 {
		conn := p.dial()
		switch i % 3 {
		case 0: // kept after a request
			if !healthy(conn) {
				t.Fatalf("connection %d was not served", i)
			}
		case 1: // a request that trickles in, without a token
			if _, err := io.WriteString(conn, "POST "+alpha.MCPPath()+" HTTP/1.1\r\nHost: loc"); err != nil {
				t.Fatal(err)
			}
		}
		idle = append(idle, conn)
	}
	if g := p.post(alpha, statusGet); g.status != 200 {
		t.Errorf("beside 40 idle connections: %d %s", g.status, g.body)
	}
	for i, conn := range idle[:32] {
		if !isClosed(conn) {
			t.Errorf("connection %d of 40 is still open, want the oldest closed", i)
		}
	}
	if last := idle[39]; !healthy(last) {
		t.Error("one of the newest connections was closed before older ones")
	}
}

// The client of a request that was half sent could not tell whether it was done.
func TestWhoMakesRoomForOthersIsToldThatNothingWasDone(t *testing.T) {
	p := crowded(t, 8)
	conn := p.dial()
	if _, err := io.WriteString(conn, "POST "+alpha.MCPPath()+" HTTP/1.1\r\nHost: loc"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		p.dial()
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.Header.Get("Fleet-Unread") == "" {
		t.Errorf("it got %v, %v, want an answer with Fleet-Unread", resp, err)
	}
}

// The files of those that were told to go are few, and some of a flood were closed before they were
// told.
func TestOfAFloodEveryOneThatMakesRoomIsTold(t *testing.T) {
	p := open(t)
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	var flood []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", l.all[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		flood = append(flood, conn)
	}
	open, draining := newConnections(8), &atomic.Bool{}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, p.server.httpServer(open, draining), open, draining) }() // takes them all in at once
	told := 0
	for _, conn := range flood[:len(flood)-8] {
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && resp.Header.Get("Fleet-Unread") != "" {
			told++
		}
	}
	if want := len(flood) - 8; told != want {
		t.Errorf("%d of %d were told that nothing was done, want all", told, want)
	}
	end()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestAConnectionWithACallInFlightIsNotClosedForOthers(t *testing.T) {
	h := newHeld()
	p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(false)} })
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p.server.maxConnections, p.server.toolTimeout = 2, time.Minute
	p.serve()
	at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			body, err := at.send(context.Background(), callWait)
			answers <- fmt.Sprint(body, err)
		}()
	}
	h.awaitCalls(t, 2)
	third := p.dial()
	if resp, err := http.ReadResponse(bufio.NewReader(third), nil); err != nil || resp.Header.Get("Fleet-Unread") == "" || !isClosed(third) {
		t.Errorf("a third connection beside two with calls in flight got %v, %v, want that nothing was done, and the end", resp, err)
	}
	h.release(t)
	h.release(t)
	for range 2 {
		if got := <-answers; !strings.Contains(got, "done") {
			t.Errorf("a call in flight got %s", got)
		}
	}
	eventually(t, "there is room again", func() bool { return healthy(p.dial()) })
}

func TestTheLimitLeavesFilesForTheShip(t *testing.T) {
	if n := connectionLimit(); n < 1 || n > maxConnections {
		t.Errorf("%d connections, want 1 to %d", n, maxConnections)
	}
}

// The time that a body may take is not the time that a tool may take.
func TestAToolMayOutlastTheTimeOfABody(t *testing.T) {
	h := newHeld()
	p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(true)} })
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p.server.bodyTimeout, p.server.toolTimeout = 100*time.Millisecond, time.Minute
	p.serve()
	at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
	answer := make(chan string, 1)
	go func() {
		body, err := at.send(context.Background(), callWait)
		answer <- fmt.Sprint(body, err)
	}()
	h.awaitCalls(t, 1)
	// As long as another request needs to run into it.
	if resp := p.raw(p.head("Content-Length: 500\r\n")+`{"jsonrpc":`, false); resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that stalls: %d, want 408", resp.StatusCode)
	}
	h.release(t)
	if got := <-answer; !strings.Contains(got, "done") {
		t.Errorf("the call got %s", got)
	}
}

// A body that nobody reads, since the request is refused before, must not hold a connection.
func TestABodyThatTricklesAfterARefusalEnds(t *testing.T) {
	p := open(t)
	for name, head := range map[string]string{
		"no token":  "POST " + alpha.MCPPath() + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{",
		"elsewhere": "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{",
		"no body":   "GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := p.in(t).dial()
			if _, err := io.WriteString(conn, head); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection stays open: %v", err)
			}
		})
	}
}
