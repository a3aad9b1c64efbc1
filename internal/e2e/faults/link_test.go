//go:build e2e && linux

package faults

import (
	"io"
	"net"
	"sync"
	"time"
)

// link stands between two programs, and can be broken. It passes bytes on as they come.
type link struct {
	listener net.Listener
	network  string // of the far end
	address  string
	work     sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{} // both ends of each
	refuses bool
	held    chan struct{} // closed when bytes go on; nil: they do
	passed  [2]int        // bytes of questions and of answers
	trips   []*trip
}

// trip is a point in what goes over a link.
type trip struct {
	answers bool
	bytes   int
	reached chan struct{}
	struck  chan struct{} // closed once the fault is there; the bytes wait for it a little
}

// openLink listens where l says and leads to address.
func openLink(l net.Listener, network, address string) *link {
	k := &link{listener: l, network: network, address: address, conns: map[net.Conn]struct{}{}}
	k.work.Go(k.accept)
	return k
}

func (k *link) accept() {
	for {
		near, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.mu.Lock()
		refuses := k.refuses
		k.mu.Unlock()
		far, err := net.DialTimeout(k.network, k.address, time.Second)
		if err != nil || refuses {
			reset(near)
			if err == nil {
				_ = far.Close()
			}
			continue
		}
		k.mu.Lock()
		k.conns[near], k.conns[far] = struct{}{}, struct{}{}
		k.mu.Unlock()
		k.work.Go(func() { k.pump(near, far, 0) })
		k.work.Go(func() { k.pump(far, near, 1) })
	}
}

// reset closes a connection in such a way that a program at the other end sees a fault.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (k *link) pump(from, to net.Conn, direction int) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			first := k.count(n, direction) // of these, before a point that was chosen
			if _, werr := to.Write(buffer[:first]); werr != nil {
				break
			}
			k.strike()
			k.wait()
			if _, werr := to.Write(buffer[first:n]); werr != nil {
				break
			}
		}
		if err != nil {
			if err != io.EOF {
				reset(to)
			}
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.conns, from)
	delete(k.conns, to)
}

// count adds n bytes, and says how many of them go before the next trip.
func (k *link) count(n, direction int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.passed[direction]
	k.passed[direction] += n
	for _, t := range k.trips {
		if t.answers == (direction == 1) && t.bytes <= k.passed[direction] && t.bytes > before {
			return t.bytes - before
		}
	}
	return n
}

// strike tells the faults whose point is reached, and waits for them.
func (k *link) strike() {
	k.mu.Lock()
	var now, later []*trip
	for _, t := range k.trips {
		if t.bytes <= k.passed[map[bool]int{true: 1}[t.answers]] {
			now = append(now, t)
		} else {
			later = append(later, t)
		}
	}
	k.trips = later
	k.mu.Unlock()
	for _, t := range now {
		close(t.reached)
		select {
		case <-t.struck:
		case <-time.After(100 * time.Millisecond): // something else breaks the same thing now
		}
	}
}

func (k *link) wait() {
	k.mu.Lock()
	held := k.held
	k.mu.Unlock()
	if held != nil {
		<-held
	}
}

// trip sets a point.
func (k *link) trip(answers bool, bytes int) *trip {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &trip{answers: answers, bytes: bytes, reached: make(chan struct{}), struck: make(chan struct{})}
	k.trips = append(k.trips, t)
	return t
}

// cut ends every connection.
func (k *link) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.conns {
		reset(c)
	}
}

// refuse has new connections end at once, and old ones too.
func (k *link) refuse(yes bool) {
	k.mu.Lock()
	k.refuses = yes
	k.mu.Unlock()
	if yes {
		k.cut()
	}
}

// hold stops all bytes until it is released.
func (k *link) hold() (release func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := make(chan struct{})
	if k.held != nil {
		return func() {} // another fault's
	}
	k.held = held
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.held = nil
		close(held)
	}
}

func (k *link) close() {
	_ = k.listener.Close()
	k.cut()
	k.work.Wait()
}
