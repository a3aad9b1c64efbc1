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
// connection goes that has been without a token's request for longest. Its client, which may have
// sent half of one, is told that nothing was done, and opens another. Where every one has such a
// request, the new one goes.
type connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // its place in quiet; nil while it is busy
	quiet   *list.List                 // of net.Conn, the one that has been so for longest first
	parting *list.List                 // of net.Conn without its served, the last that were told to go; some are gone
	none    chan struct{}              // closed once none is open; nil: nobody waits
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}, quiet: list.New(), parting: list.New()}
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
		if len(c.open) >= c.most && !c.refuseOldest() {
			if s, ok := conn.(*served); ok {
				s.refuse() // nothing was written yet: there is room
			}
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
		if c.none != nil && len(c.open) == 0 {
			close(c.none)
			c.none = nil
		}
	}
}

// wait returns once no connection is open, or ctx has ended. No new ones may come any more.
func (c *connections) wait(ctx context.Context) {
	none := make(chan struct{})
	c.mu.Lock()
	if len(c.open) > 0 {
		c.none = none
	} else {
		close(none)
	}
	c.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
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

// refuseOldest refuses the connection that has been quiet for longest, if any is.
func (c *connections) refuseOldest() bool {
	for oldest := c.quiet.Front(); oldest != nil; oldest = c.quiet.Front() {
		conn := c.quiet.Remove(oldest).(net.Conn)
		s, ok := conn.(*served)
		if ok && !s.claim() {
			c.open[conn] = nil // a request began just now
			continue
		}
		delete(c.open, conn) // its file is free soon; StateClosed follows
		if !ok {
			_ = conn.Close()
			return true
		}
		if !s.tellNow() {
			go s.tell() // ends by the deadline that claim set
		}
		c.part(s.Conn)
		return true
	}
	return false
}

// part keeps the files of those that were told to go within an eighth of the limit: the first of
// them has had the longest to read why.
func (c *connections) part(conn net.Conn) {
	c.parting.PushBack(conn)
	if c.parting.Len() > max(c.most/8, 1) {
		_ = c.parting.Remove(c.parting.Front()).(net.Conn).Close()
	}
}
