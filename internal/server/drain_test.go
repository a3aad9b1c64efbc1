package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
	t.Parallel()
	l := oneListener(t)
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

// Whom the process had no file for was cut off without a word.
func TestWhoeverTheSystemTookInIsToldThoughFilesAreShort(t *testing.T) {
	l := oneListener(t)
	var clients []net.Conn
	for range 40 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		clients = append(clients, conn)
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	few := syscall.Rlimit{Cur: uint64(next.Fd()) + 3, Max: files.Max}
	_ = next.Close()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	draining := &atomic.Bool{}
	draining.Store(true)
	drainable{l, draining}.end()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
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

// oneListener is an IPv4 one as Listen makes it.
func oneListener(t *testing.T) net.Listener {
	t.Helper()
	both, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = both.Close() })
	return both.all[0]
}

func onlyLinuxLetsNobodyIn(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can be told to let nobody in")
	}
}

// Between the last accept and the close the kernel took in clients, and then their requests, and
// cut them off.
func TestNobodyIsLetInOnceThePortIsBeingEmptied(t *testing.T) {
	onlyLinuxLetsNobodyIn(t)
	l := oneListener(t)
	early, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	if err := raw.Control(func(fd uintptr) { refused = refuseHandshakes(int(fd)) }); err != nil || refused != nil {
		t.Fatalf("refuseHandshakes: %v, %v", err, refused)
	}
	conn, err := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond)
	var silent net.Error
	if err == nil {
		_ = conn.Close()
		t.Error("a client was let in")
	} else if !errors.As(err, &silent) || !silent.Timeout() {
		t.Errorf("Dial: %v, want no answer", err)
	}
	taken, err := l.Accept()
	if err != nil || taken.RemoteAddr().String() != early.LocalAddr().String() {
		t.Fatalf("Accept gave %v, %v, want the client that was there before", taken, err)
	}
	defer taken.Close()
	if _, err := io.WriteString(early, "x"); err != nil {
		t.Error(err)
	}
	if n, err := taken.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("what it sends does not arrive: %v", err)
	}
}

// TestWhoeverConnectsWhileAShipEndsIsToldOrRefused connects again and again.
func TestWhoeverConnectsWhileAShipEndsIsToldOrRefused(t *testing.T) {
	onlyLinuxLetsNobodyIn(t)
	p := open(t)
	request := p.head("Content-Length: 2\r\n") + "{}"
	var stopped atomic.Bool
	var clients sync.WaitGroup
	var told, answered atomic.Int32
	for range 32 {
		clients.Go(func() {
			for {
				d := net.Dialer{Timeout: 100 * time.Millisecond}
				conn, err := d.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
				switch {
				case err != nil && stopped.Load():
					return
				case err != nil:
					continue
				}
				_, _ = io.WriteString(conn, request)
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				_ = conn.Close()
				switch {
				case err != nil:
					t.Errorf("a client got no answer: %v", err)
					return
				case resp.Header.Get("Fleet-Unread") != "":
					told.Add(1)
				default:
					answered.Add(1)
				}
			}
		})
	}
	eventually(t, "clients are answered", func() bool { return answered.Load() > 100 })
	err := p.stop()
	stopped.Store(true)
	clients.Wait()
	if err != nil || told.Load() == 0 {
		t.Errorf("Serve: %v; %d clients were told of the end, want some", err, told.Load())
	}
}

// changed serves on a port of its own by an http.Server that was changed, and connects to it.
func (p *port) changed(change func(*http.Server)) (conn net.Conn, end func(), ended <-chan error) {
	p.t.Helper()
	l, err := Listen(0)
	if err != nil {
		p.t.Fatal(err)
	}
	open, draining := newConnections(10), &atomic.Bool{}
	h := p.server.httpServer(open, draining)
	change(h)
	ctx, end := context.WithCancel(p.t.Context())
	over := make(chan error, 1)
	go func() { over <- serve(ctx, l, h, open, draining) }()
	if conn, err = net.Dial("tcp", l.all[0].Addr().String()); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn, end, over
}

// net/http's Shutdown closed a connection whose answer was written and that had not been marked as
// idle yet: the request that followed was lost without a word.
func TestAConnectionIsNotClosedBetweenItsAnswerAndItsTurn(t *testing.T) {
	t.Parallel()
	p := open(t)
	idle, goOn := make(chan struct{}), make(chan struct{})
	conn, end, ended := p.changed(func(h *http.Server) {
		note := h.ConnState
		h.ConnState = func(conn net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				close(idle)
				<-goOn
			}
			note(conn, state)
		}
	})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	request := p.head(fmt.Sprintf("Content-Length: %d\r\n", len(ping))) + ping
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || err != nil {
		t.Fatalf("ping: %d %s %v", resp.StatusCode, body, err)
	}
	<-idle
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	end()
	next := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(reader)
		next <- fmt.Sprint(string(text), err)
	}()
	select {
	case text := <-next:
		close(goOn)
		t.Fatalf("the connection ended with %q before its turn", text)
	case <-time.After(200 * time.Millisecond): // long enough for a Shutdown
	}
	close(goOn)
	if text := <-next; !strings.Contains(text, "Fleet-Unread") {
		t.Errorf("the next request got %q, want that it was not read", text)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A client that was accepted just before the end's beginning, and known to us just after, was not
// told: the end waited eight seconds for it, and then cut it off without a word.
func TestAClientThatComesAsTheEndBeginsIsTold(t *testing.T) {
	p := open(t)
	accepted, goOn := make(chan struct{}), make(chan struct{})
	conn, end, ended := p.changed(func(h *http.Server) {
		attach := h.ConnContext
		h.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
			close(accepted)
			<-goOn
			return attach(ctx, conn)
		}
	})
	<-accepted
	end()
	// The port is closed after the first look at who is there.
	eventually(t, "the port is closed", func() bool {
		late, err := net.DialTimeout("tcp", conn.RemoteAddr().String(), 100*time.Millisecond)
		if err == nil {
			_ = late.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	close(goOn)
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.Header.Get("Fleet-Unread") == "" {
		t.Errorf("the client got %v, %v, want an answer with Fleet-Unread", resp, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
