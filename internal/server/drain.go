package server

import (
	"context"
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

const (
	// lingerTime is how long a refused client has to read why.
	lingerTime = 500 * time.Millisecond
	// plainTimeout is how long the client of a request that is never begun (health, a bad token)
	// may take to read its answer, so that whoever reads nothing holds nothing.
	plainTimeout = 10 * time.Second
)

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

// served is one connection of the port.
type served struct {
	net.Conn
	draining *atomic.Bool

	mu      sync.Mutex
	begun   bool // a request is being done or answered
	writing int  // answers that are being written
	refused bool
	told    chan struct{} // closed once the client of a refused connection was told; nil: not refused
	rest    string        // what is still to be said to it
}

// begin says that a request is about to be done. It gives false where it must not be.
func (c *served) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = !c.refused
	if c.begun {
		_ = c.Conn.SetWriteDeadline(time.Time{}) // its answer may take its time
	}
	return c.begun
}

// idle says that the request was answered.
func (c *served) idle() {
	c.mu.Lock()
	c.begun = false
	c.mu.Unlock()
	if c.draining.Load() {
		c.refuse()
	}
}

// refuse ends the connection unless a request has begun.
func (c *served) refuse() {
	if c.claim() {
		c.tell()
	}
}

// claim sees to it that no request begins any more and that the connection ends within lingerTime.
// tell must follow. It does not wait. It gives false where a request has begun, or the connection was claimed before.
func (c *served) claim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun || c.refused {
		return false
	}
	c.refused, c.told, c.rest = true, make(chan struct{}), unread
	_ = c.Conn.SetDeadline(time.Now().Add(lingerTime))
	return true
}

// tell says so to the client of a claimed connection. Where an answer to it is stuck, that takes
// until the deadline.
func (c *served) tell() {
	defer close(c.told)
	_, _ = io.WriteString(c.Conn, c.rest) // a client that is gone needs no answer
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// tellNow is tell without any wait. It gives false where that can't be; tell must follow then.
func (c *served) tellNow() bool {
	c.mu.Lock()
	busy := c.writing > 0
	c.mu.Unlock()
	socket, ok := c.Conn.(syscall.Conn)
	if busy || !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	// Control and not Write, which waits for room. Nobody else writes any more.
	_ = raw.Control(func(fd uintptr) {
		if n, err := syscall.Write(int(fd), []byte(c.rest)); err == nil {
			c.rest = c.rest[n:]
		}
	})
	if c.rest != "" {
		return false
	}
	c.tell()
	return true
}

// Close waits until the client of a refused connection was told why: net/http closes at once what
// it may not answer, and the client could not tell whether its request was done.
func (c *served) Close() error {
	c.mu.Lock()
	told := c.told
	c.mu.Unlock()
	if told != nil {
		<-told
	}
	return c.Conn.Close()
}

// Write fails once the connection was refused: the client has its answer.
func (c *served) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.refused {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	if !c.begun {
		_ = c.Conn.SetWriteDeadline(time.Now().Add(plainTimeout))
	}
	c.writing++
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	c.writing--
	c.mu.Unlock()
	return n, err
}

// SetReadDeadline keeps the deadline of a refused connection, which net/http would put off.
func (c *served) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

// servedKey is the context key of a request's connection.
type servedKey struct{}

// begin must be asked once a request was read and before anything is done for it. Where it gives
// false the client has been told that nothing was done.
func begin(ctx context.Context) bool {
	c, ok := ctx.Value(servedKey{}).(*served)
	return !ok || c.begin()
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
