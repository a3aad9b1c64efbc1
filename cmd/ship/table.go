package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// widestCell is what a cell shows at most, but for a row's last: it has room for every REPO/NAME,
// and no branch pushes the columns behind it out of sight.
const widestCell = 260

// table lays rows out in columns, by the width that a terminal gives each character.
type table struct{ rows [][]string }

// row adds a row. What drives or confuses a terminal is left out of its cells.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = clean(cell)
		if i < len(cells)-1 {
			cells[i] = cutWidth(cells[i], widestCell)
		}
	}
	t.rows = append(t.rows, cells)
}

// lines gives a line for each row, without its newline.
func (t *table) lines() []string {
	const gap = 2
	var widths []int
	for _, cells := range t.rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], textWidth(cell))
		}
	}
	lines := make([]string, 0, len(t.rows))
	for _, cells := range t.rows {
		var line strings.Builder
		for i, cell := range cells {
			line.WriteString(cell)
			if i < len(cells)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-textWidth(cell)+gap))
			}
		}
		lines = append(lines, line.String())
	}
	return lines
}

func (t *table) print(w io.Writer) {
	for _, line := range t.lines() {
		fmt.Fprintln(w, line)
	}
}

// runeWidth is how many columns a terminal gives r: two for what is wide in East Asia, emoji
// among it, none for a mark that joins the character before (UAX #11).
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// cutWidth cuts s to at most n columns, of which the last then shows that it was cut.
func cutWidth(s string, n int) string {
	if len(s) <= n || textWidth(s) <= n {
		return s
	}
	at, shown := 0, 0
	for i, r := range s {
		shown += runeWidth(r)
		if shown > n-1 {
			at = i
			break
		}
	}
	return s[:at] + "…"
}
