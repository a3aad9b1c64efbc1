package main

import (
	"fmt"
	"io"
)

// progress shows what long work says of itself: on a terminal one line that changes, elsewhere
// nothing, so that a script's stderr holds errors only.
type progress struct {
	w     io.Writer
	shown bool
}

func newProgress(w io.Writer) *progress { return &progress{w: w} }

const clearLine = "\r\x1b[K"

func (p *progress) show(line string) {
	if !isTerminal(p.w) {
		return
	}
	p.shown = true
	const width = 78
	runes := []rune(clean(line))
	if len(runes) > width {
		runes = runes[:width]
	}
	fmt.Fprint(p.w, clearLine+string(runes))
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, clearLine)
	}
}
