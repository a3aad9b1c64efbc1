package server

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// plainTimeout is how long the client of a request that is never begun (health, a bad token) may
// take to read its answer, so that whoever reads nothing holds nothing.
const plainTimeout = 10 * time.Second

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
// tell must follow. It does not wait. It gives false where a request has begun, or the connection
// was claimed before.
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
