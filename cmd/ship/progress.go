package main

import "io"

// progress shows what long work says of itself: on a terminal one line that changes, elsewhere
// nothing, so that a script's stderr holds errors only.
type progress struct {
	w     io.Writer
	shown bool
}

func newProgress(w io.Writer) *progress { return &progress{w: w} }

func (p *progress) show(line string) {
	if !isTerminal(p.w) {
		return
	}
	p.shown = true
	const width = 78
	_ = drive(p.w, clearLine, cutWidth(clean(line), width))
}

func (p *progress) end() {
	if p.shown {
		_ = drive(p.w, clearLine, "")
	}
}
