package adapter_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
)

// posted is one request as the far end got it.
type posted struct {
	header http.Header
	host   string
	path   string
	body   string
	id     string // as written; "" for a notification
	method string
}

// far is the ship's end: a real HTTP server that answers as a test says.
type far struct {
	listener net.Listener
	server   *http.Server
	reply    func(w http.ResponseWriter, r *http.Request, p posted)

	mu   sync.Mutex
	got  []posted
	open map[net.Conn]bool // the connections of the server
}

// newFar serves reply on 127.0.0.1 until the test ends; nil means result.
func newFar(t *testing.T, reply func(w http.ResponseWriter, r *http.Request, p posted)) *far {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &far{listener: l, reply: reply}
	if reply == nil {
		f.reply = result
	}
	f.serve()
	t.Cleanup(f.close)
	return f
}

func (f *far) serve() {
	f.server = &http.Server{Handler: http.HandlerFunc(f.handle), ConnState: f.note}
	go f.server.Serve(f.listener)
}

func (f *far) note(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[net.Conn]bool{}
	}
	if f.open[c] = true; state == http.StateClosed || state == http.StateHijacked {
		delete(f.open, c)
	}
}

// close ends the listener and its connections. A child that another test has just forked has them
// open too until it executes its program. Shut down, they end for it all the same: the port can be
// had again, and nobody writes into a connection behind which no ship is.
func (f *far) close() {
	f.mu.Lock()
	for c := range f.open {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	f.mu.Unlock()
	if raw, err := f.listener.(*net.TCPListener).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
	_ = f.server.Close()
}

// restart ends the server and its connections at once, runs away, and serves on the same port.
func (f *far) restart(t *testing.T, away func()) {
	t.Helper()
	address := f.listener.Addr().(*net.TCPAddr)
	f.close()
	release := reserve(t, address)
	away()
	release()
	l, err := net.Listen("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	f.listener = l
	f.serve()
}

// reserve keeps others from a port, an IPv4 one, until release; connections to it are refused.
func reserve(t *testing.T, address *net.TCPAddr) (release func()) {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(socket)
	// Connections of the listener before may still be ending.
	err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(socket, &syscall.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())})
	}
	if err != nil {
		syscall.Close(socket)
		t.Fatalf("reserve %v: %v", address, err)
	}
	return func() { syscall.Close(socket) }
}

func (f *far) handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if len(body) < long {
		_ = json.Unmarshal(body, &m)
	}
	p := posted{r.Header, r.Host, r.URL.EscapedPath(), string(body), string(m.ID), m.Method}
	f.mu.Lock()
	f.got = append(f.got, p)
	f.mu.Unlock()
	f.reply(w, r, p)
}

func (f *far) port() int { return f.listener.Addr().(*net.TCPAddr).Port }

func (f *far) posts() []posted {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]posted(nil), f.got...)
}

// answered is the answer that the far end gives to id where nothing else is asked for.
func answered(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{"ok":true}}` }

// result answers as a sound ship does.
func result(w http.ResponseWriter, _ *http.Request, p posted) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case p.id == "":
		w.WriteHeader(http.StatusAccepted)
	case p.method == "initialize":
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+p.id+`,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"fleet-agent","version":"v1.2.3"}}}`)
	default:
		io.WriteString(w, answered(p.id))
	}
}
