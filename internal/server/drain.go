package server

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A graceful end must be exact about what was done. net/http's own closes what is idle: a request
// that is on its way then is lost without a word, and its client cannot tell whether it ran. So
// from the end's beginning no request is begun: one that has begun goes on to its answer, and
// every other connection is told so by unread, which proves that nothing sent on it was done.

// unread answers a request that was not read. RFC 9110 §15.5.9: a client may repeat a request
// that is answered with 408. Fleet-Unread says that it is this answer, and no proxy's.
const unread = "HTTP/1.1 408 Request Timeout\r\nFleet-Unread: 1\r\nConnection: close\r\n" +
	"Content-Type: application/json\r\nContent-Length: 120\r\n\r\n" +
	`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the ship is ending or crowded and did not read this; send it again"}}`

// lingerTime is how long a refused client has to read why.
const lingerTime = 500 * time.Millisecond

// drainable is a listener whose connections can be refused.
type drainable struct {
	net.Listener
	draining *atomic.Bool
}

// Accept refuses whoever comes while the port is being closed.
func (d drainable) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return d.serve(conn), nil
}

func (d drainable) serve(conn net.Conn) *served {
	c := &served{Conn: conn, draining: d.draining}
	if d.draining.Load() {
		c.refuse()
	}
	return c
}

// end closes the port. The system has taken in clients that nobody has accepted yet, and closing
// would cut them off in the dark: no more are let in, then those are refused, then it is closed.
// Where the system can't be told to let none in, the last of them and the close have next to
// nothing between them. It returns once they are gone, which their deadline sees to.
func (d drainable) end() {
	var told []*served
	if socket, ok := d.Listener.(*net.TCPListener); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				_ = refuseHandshakes(int(fd))
				told = d.empty(int(fd))
				// Close takes effect only once the goroutine in Accept has woken up.
				_ = syscall.Shutdown(int(fd), syscall.SHUT_RD)
			})
		}
	}
	_ = d.Close()
	for _, c := range told {
		_, _ = io.Copy(io.Discard, c.Conn) // until its deadline
		_ = c.Close()
	}
}

// empty refuses whoever is in the queue, and gives those who may still be reading why. Where the
// process has no file left for one, the first of them goes, or one of net/http's, which ends soon.
func (d drainable) empty(fd int) (told []*served) {
	patience := time.Now().Add(2 * lingerTime)
	for {
		one, _, err := syscall.Accept(fd)
		full := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		switch {
		case err == nil:
			if c := d.turnAway(one); c != nil {
				told = append(told, c)
			}
		case full && len(told) > 0:
			_ = told[0].Close()
			told = told[1:]
		case full && time.Now().Before(patience):
			time.Sleep(time.Millisecond)
		case !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.ECONNABORTED): // there may be more behind these
			return told
		}
	}
}

// turnAway refuses a client that net/http has not seen. nil: it is gone.
func (d drainable) turnAway(fd int) *served {
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil { // it takes a second file
		_, _ = io.WriteString(file, unread)
		return nil
	}
	return d.serve(conn)
}

// drain refuses every connection without a request; each other one is once it has its answer. It
// returns within lingerTime, however many there are and whether or not they read.
func (c *connections) drain() {
	c.mu.Lock()
	var open []*served
	for conn := range c.open {
		if s, ok := conn.(*served); ok {
			open = append(open, s)
		}
	}
	c.mu.Unlock()
	var telling sync.WaitGroup
	defer telling.Wait()
	for _, s := range open {
		if s.claim() {
			telling.Go(s.tell)
		}
	}
}
