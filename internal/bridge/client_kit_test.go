package bridge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// exchange writes a request and reads its answer.
func exchange(t *testing.T, conn net.Conn, request string) (*http.Response, string) {
	t.Helper()
	go func() { _, _ = io.WriteString(conn, request) }() // a refusal may come before the end of it
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer to %.60q: %v", request, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// pipes is a listener without a network.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// cutter passes connections on, and cuts each one's answer after the bytes that cut gives for it;
// negative: not at all.
type cutter struct {
	net.Listener
	to  string
	cut func(connection int) int
	mu  sync.Mutex
	all int // connections so far
	len int // of the last answer that was cut, whole
}

func newCutter(t *testing.T, to string, cut func(connection int) int) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to, cut: cut}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.all++
			limit := cut(c.all)
			c.mu.Unlock()
			go c.pass(conn.(*net.TCPConn), limit)
		}
	}()
	return c
}

func (c *cutter) pass(client *net.TCPConn, limit int) {
	defer client.Close()
	server, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	if limit < 0 {
		_, _ = io.Copy(client, server)
		return
	}
	// All of the answer is waited for, so that what was asked for is done before the cut.
	buffer := make([]byte, 1<<16)
	n, _ := server.Read(buffer)
	if strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 100 ") { // the bridge asks for a write's text
		_, _ = client.Write(buffer[:n])
		n, _ = server.Read(buffer)
	}
	c.mu.Lock()
	c.len = n
	c.mu.Unlock()
	_, _ = client.Write(buffer[:min(limit, n)])
	_ = client.SetLinger(0) // a reset, not an end
}
