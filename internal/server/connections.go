package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
)

const maxConnections = 1024

// connections bounds how many are open on the port, so that whoever opens them by the hundred
// cannot use up the process's files: the ship needs some for every tmux call. At the limit the
// connection goes that has been without a token's request for longest, which an honest client
// that keeps one for later opens again. Where every one has such a request, the new one goes.
type connections struct {
	most int

	mu    sync.Mutex
	open  map[net.Conn]*list.Element // its place in quiet; nil while it is busy
	quiet *list.List                 // of net.Conn, the one that has been so for longest first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}, quiet: list.New()}
}

// connectionLimit leaves half of the files that the process may open to all else.
func connectionLimit() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxConnections
	}
	return int(min(maxConnections, uint64(files.Cur)/2))
}

// note is an http.Server's ConnState.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	if s, ok := conn.(*served); ok && state == http.StateIdle {
		s.idle()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// StateActive says no more than that a byte came, which anybody can send.
	switch state {
	case http.StateNew:
		if len(c.open) >= c.most && !c.closeOldest() {
			_ = conn.Close()
		}
		c.open[conn] = c.quiet.PushBack(conn)
	case http.StateIdle:
		if _, known := c.open[conn]; known {
			c.leaveQuiet(conn)
			c.open[conn] = c.quiet.PushBack(conn)
		}
	case http.StateHijacked, http.StateClosed:
		c.leaveQuiet(conn)
		delete(c.open, conn)
	}
}

func (c *connections) leaveQuiet(conn net.Conn) {
	if place := c.open[conn]; place != nil {
		c.quiet.Remove(place)
	}
}

// busyKey is the context key of a function that keepOpen calls.
type busyKey struct{}

// attach is an http.Server's ConnContext.
func (c *connections) attach(ctx context.Context, conn net.Conn) context.Context {
	ctx = context.WithValue(ctx, servedKey{}, conn)
	return context.WithValue(ctx, busyKey{}, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, known := c.open[conn]; known {
			c.leaveQuiet(conn)
			c.open[conn] = nil
		}
	})
}

// keepOpen keeps the connection of a request with a good token from being closed for others, until
// it is idle again.
func keepOpen(ctx context.Context) {
	if mark, ok := ctx.Value(busyKey{}).(func()); ok {
		mark()
	}
}

// closeOldest closes the connection that has been quiet for longest, if any is.
func (c *connections) closeOldest() bool {
	oldest := c.quiet.Front()
	if oldest == nil {
		return false
	}
	conn := c.quiet.Remove(oldest).(net.Conn)
	delete(c.open, conn) // its file is free now; StateClosed follows
	_ = conn.Close()
	return true
}
