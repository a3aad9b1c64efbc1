package adapter

import (
	"io"
	"strings"
	"sync"
	"unicode"
)

// output is the one writer of protocol lines. A line and its newline go out in one write.
type output struct {
	mu     sync.Mutex
	w      io.Writer
	failed bool
	broken chan struct{} // closed when the harness no longer reads
}

func newOutput(w io.Writer) *output { return &output{w: w, broken: make(chan struct{})} }

func (o *output) write(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(line)
}

// answer writes the one answer to a, unless a was answered or cancelled.
func (o *output) answer(a *asked, line func() []byte) {
	o.compose(func() []byte {
		if !a.claim() {
			return nil
		}
		return line()
	})
}

// compose writes a line, unless it is nil. Claim and write are one step: no answer is on its way
// here that a cancel, read before the line after it, cannot stop.
func (o *output) compose(line func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := line(); text != nil {
		o.put(text)
	}
}

// put is called with mu held.
func (o *output) put(line []byte) {
	line = append(line, '\n')
	if o.failed {
		return
	}
	if _, err := o.w.Write(line); err != nil {
		o.failed = true
		close(o.broken)
	}
}

// The log's bounds keep it within a pipe's 64 KiB, so that a harness that never reads standard
// error cannot bring the adapter to a stop.
const (
	maxLogLines = 200
	maxLogBytes = 300
)

// log writes short lines for people to standard error: no token, no message.
type log struct {
	mu    sync.Mutex
	w     io.Writer
	count int
}

func (l *log) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	switch {
	case l.count == maxLogLines:
		text = "no more is logged"
	case l.count > maxLogLines:
		return
	}
	_, _ = io.WriteString(l.w, "agent-mcp: "+cut(printable(text), maxLogBytes)+"\n")
}

// printable replaces what a terminal would act on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
