package adapter

import "sync"

// pool runs requests in the order in which they came, limit of them at a time. The rest waits
// in memory, so that the reader of lines never waits and still sees a cancel.
type pool struct {
	run   func(*call)
	limit int

	mu      sync.Mutex
	ready   sync.Cond
	queue   []*call
	workers int
	idle    int
	closed  bool
}

func newPool(limit int, run func(*call)) *pool {
	p := &pool{run: run, limit: limit}
	p.ready.L = &p.mu
	return p
}

// submit never blocks. Workers stay until close: a stack that has grown once makes the next
// call cheap.
func (p *pool) submit(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, c)
	switch {
	case p.idle >= len(p.queue):
		p.ready.Signal()
	case p.workers < p.limit:
		p.workers++
		go p.work()
	}
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) == 0 {
			if p.closed {
				return
			}
			p.idle++
			p.ready.Wait()
			p.idle--
		}
		c := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
		p.run(c)
		p.mu.Lock()
	}
}

// close ends each worker once it has nothing to do.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.ready.Broadcast()
}
