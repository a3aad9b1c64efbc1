package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"
)

// idleTimeout is how long an unused connection is kept.
const idleTimeout = 90 * time.Second

// dialTimeout is enough for the kernel's answer on loopback, however busy the machine is. A ship that
// is ending lets nobody in, and the kernel alone would ask again only after a second.
const dialTimeout = 250 * time.Millisecond

// errStale says that the ship closed a kept connection before anything was written to it, so
// another one may be taken.
var errStale = errors.New("the ship closed the connection while it was idle")

// unreachableError says that nobody answers on the port, so that nothing was sent.
type unreachableError struct{ err error }

// Error gives the system's text.
func (e *unreachableError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *unreachableError) Unwrap() error { return e.err }

// foreignError says that the listener on our port belongs to another user.
type foreignError struct {
	address string
	uid     int
}

// Error says whose the listener is.
func (e *foreignError) Error() string {
	return fmt.Sprintf("%s belongs to user %d, not to us", e.address, e.uid)
}

// newTransport makes the way to the ship: no proxy, whatever the environment says, HTTP/1.1
// only, and no more idle connections than calls in flight. RoundTrip follows no redirect.
func newTransport(limit int) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		MaxIdleConns:           limit,
		MaxIdleConnsPerHost:    limit,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// route notes which connection an attempt goes over, to tell afterwards whether all of it may have
// arrived. Not for concurrent attempts.
type route struct {
	conn   *conn
	writes int64 // on the connection, before this attempt
}

// traced makes net/http tell the route, and call sent once an attempt was written. A connection
// that waited in the pool is looked at before it is written to.
func (r *route) traced(ctx context.Context, sent func()) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			c, ok := got.Conn.(*conn)
			if !ok {
				return
			}
			c.look.Store(got.Reused || got.WasIdle)
			c.cut.Store(false)
			r.conn, r.writes = c, c.writes.Load()
		},
		WroteRequest: func(wrote httptrace.WroteRequestInfo) {
			if wrote.Err == nil {
				sent()
			}
		},
	})
}

// unsent says that the attempt had a connection, to which not all of it was written. The ship does
// nothing before it has read a request to its end. RoundTrip does not fail while something is
// still being written.
func (r *route) unsent() bool { return r.conn != nil && (r.conn.cut.Load() || !r.begun()) }

// begun says that the attempt had a connection, to which some of it was written.
func (r *route) begun() bool { return r.conn != nil && r.conn.writes.Load() != r.writes }

// dial connects to the port of address on 127.0.0.1 and, where that refuses, on [::1], and sees
// that the listener is ours before anything can be written.
func dial(ctx context.Context, _, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout, KeepAlive: -1} // both ends are one machine
	for _, host := range []string{"127.0.0.1", "::1"} {
		var c net.Conn
		var refused error
		if c, refused = d.DialContext(ctx, "tcp", net.JoinHostPort(host, port)); refused == nil {
			return checked(c)
		}
		// The IPv4 error tells more: a machine without IPv6 has its own for the second.
		if err == nil {
			err = refused
		}
		if !errors.Is(refused, syscall.ECONNREFUSED) {
			break
		}
	}
	return nil, &unreachableError{err}
}

func checked(c net.Conn) (net.Conn, error) {
	tcp := c.(*net.TCPConn)
	if err := checkListener(tcp.RemoteAddr().(*net.TCPAddr)); err != nil {
		_ = tcp.Close()
		return nil, err
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	return &conn{TCPConn: tcp, raw: raw}, nil
}

// conn is a connection that net/http keeps. Before the first write of a further request it
// looks whether the ship has closed it: a write to a dead connection may or may not have
// arrived, so that call could not be repeated and a restart of the ship would be seen.
type conn struct {
	*net.TCPConn
	raw    syscall.RawConn
	look   atomic.Bool
	cut    atomic.Bool  // a write of this attempt ended before its last byte
	writes atomic.Int64 // that may have reached the other end, in part at least
}

// Write fails with errStale, and writes nothing, on a connection that has ended.
func (c *conn) Write(p []byte) (int, error) {
	if c.look.Swap(false) && c.ended() {
		return 0, errStale
	}
	n, err := c.TCPConn.Write(p)
	if n > 0 {
		c.writes.Add(1)
	}
	if n < len(p) {
		c.cut.Store(true)
	}
	return n, err
}

// ReadFrom is Write for the rest of a long request, which net/http hands over as a reader. The one of
// TCPConn would go past Write.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

// ended says that there is something to read: the end, an error, or an answer to nothing.
// Control and not Read: the latter waits for the goroutine that is reading.
func (c *conn) ended() bool {
	var err error
	var b [1]byte
	if c.raw.Control(func(fd uintptr) {
		_, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	}) != nil {
		return true
	}
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
}
