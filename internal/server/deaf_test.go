package server

import (
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// deaf is a connection of c whose client reads nothing; not one byte fits between the two.
func deaf(t *testing.T, c *connections) *served {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	s := &served{Conn: here, draining: &atomic.Bool{}}
	c.note(s, http.StateNew)
	return s
}

// stuck is a connection on which every write waits for its deadline, as those do whose client
// reads nothing. (The mutex of a net.Pipe's writers would stop the clock of a synctest bubble.)
type stuck struct {
	net.Conn
	over func()
	done <-chan struct{}
}

func newStuck(t *testing.T, c *connections) *served {
	t.Helper()
	done := make(chan struct{})
	s := &served{Conn: stuck{over: sync.OnceFunc(func() { close(done) }), done: done}, draining: &atomic.Bool{}}
	c.note(s, http.StateNew)
	return s
}

func (s stuck) SetDeadline(at time.Time) error {
	time.AfterFunc(time.Until(at), s.over)
	return nil
}

func (s stuck) SetWriteDeadline(at time.Time) error { return s.SetDeadline(at) }

func (s stuck) Write([]byte) (int, error) {
	<-s.done
	return 0, os.ErrDeadlineExceeded
}

// Each of them held the ship's end up for half a second, one after another.
func TestClientsThatDoNotReadDoNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(100)
		var answering sync.WaitGroup
		for range 100 {
			s := newStuck(t, c)
			answering.Go(func() { _, _ = s.Write([]byte("an answer that nobody reads")) })
		}
		synctest.Wait() // each is stuck
		start := time.Now()
		c.drain()
		answering.Wait()
		if took := time.Since(start); took > lingerTime {
			t.Errorf("100 of them took %v, want at most %v", took, lingerTime)
		}
	})
}

func TestOnlyTheAnswerToACallMayWaitForItsReader(t *testing.T) {
	for name, c := range map[string]struct {
		begun bool
		most  time.Duration // 0: it waits on
	}{"a call": {true, 0}, "any other": {false, plainTimeout}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := deaf(t, newConnections(1))
				start, ended := time.Now(), make(chan time.Time, 1)
				if c.begun && !s.begin() {
					t.Fatal("begin: false")
				}
				go func() {
					_, _ = s.Write([]byte("x"))
					ended <- time.Now()
				}()
				time.Sleep(time.Hour)
				select {
				case at := <-ended:
					if took := at.Sub(start); c.most == 0 || took > c.most {
						t.Errorf("the answer was given up after %v, want %v (0: never)", took, c.most)
					}
				default:
					if c.most > 0 {
						t.Error("the answer waits for ever")
					}
					_ = s.Close()
				}
			})
		})
	}
}

// net/http sets a new time for each part of a request.
func TestNothingPutsOffTheEndOfARefusedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := deaf(t, newConnections(1))
		start := time.Now()
		s.refuse()
		_ = s.SetReadDeadline(time.Now().Add(time.Hour))
		_, err := s.Read(make([]byte, 1))
		if took := time.Since(start); err == nil || took > lingerTime {
			t.Errorf("it is read for %v (%v), want at most %v", took, err, lingerTime)
		}
	})
}
