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
	"testing/synctest"
	"time"
)

// A graceful end of the ship cut off requests that were on their way to it just then, and their
// clients could not tell whether they were done.
func TestAGracefulEndSaysWhatItDidNotRead(t *testing.T) {
	h := newHeld()
	p := open(t, func(c *Config) { c.Tools = []Tool{h.tool(false)} })
	p.server.toolTimeout = time.Minute
	at := endpoint{p.base + alpha.MCPPath(), "Bearer " + p.workspaces.token(alpha)}
	answer := make(chan string, 1)
	go func() {
		body, err := at.send(context.Background(), callWait)
		answer <- fmt.Sprint(body, err)
	}()
	h.awaitCalls(t, 1)
	open := map[string]net.Conn{"never used": p.dial(), "kept": p.dial(), "half a head": p.dial(), "half a body": p.dial()}
	if !healthy(open["kept"]) {
		t.Fatal("a connection was not served")
	}
	write := func(name, text string) {
		if _, err := io.WriteString(open[name], text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	write("half a head", "POST "+alpha.MCPPath()+" HTTP/1.1\r\nHost: loc")
	write("half a body", p.head("Content-Length: 500\r\n")+`{"jsonrpc":`)
	eventually(t, "all are accepted", func() bool { return healthy(p.dial()) })
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	for name, conn := range open {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v, want an answer", name, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusRequestTimeout || resp.Header.Get("Fleet-Unread") == "" || err != nil || !strings.Contains(string(body), "send it again") {
			t.Errorf("%s: %d %v %s %v, want 408 and Fleet-Unread", name, resp.StatusCode, resp.Header, body, err)
		}
	}
	h.release(t)
	if got := <-answer; !strings.Contains(got, "done") {
		t.Errorf("the call in flight got %s", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestWhoeverTheSystemTookInIsToldOfTheEnd connects without anybody accepting.
func TestWhoeverTheSystemTookInIsToldOfTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var clients []net.Conn
	for range 20 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\n")
		clients = append(clients, conn)
	}
	draining := &atomic.Bool{}
	draining.Store(true)
	drainable{l, draining}.end()
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("the port still takes connections")
	}
	for i, conn := range clients {
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.Header.Get("Fleet-Unread") == "" {
			t.Errorf("client %d got %v, %v, want an answer with Fleet-Unread", i, resp, err)
		}
	}
}

// net/http closes a connection at once whose request was not begun, which may be before its turn to
// be told has come.
func TestARefusedConnectionIsNotClosedBeforeItsClientWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		c := &served{Conn: here, draining: &atomic.Bool{}}
		c.claim()
		closed := make(chan error)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		go c.tell()
		got, err := io.ReadAll(io.LimitReader(there, int64(len(unread))))
		if string(got) != unread {
			t.Errorf("the client read %q, %v, want that nothing was done", got, err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}
