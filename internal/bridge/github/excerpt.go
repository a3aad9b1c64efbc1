package github

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	headLines = 20
	around    = 40 // lines on each side of an error
	tailLines = 60
	ringLines = 2*around + 1

	maxExcerpt = 16 << 10 // bytes of one job's excerpt
)

// logLine is a line that may be shown.
type logLine struct {
	n     int // within the step, from 1
	text  []byte
	times int // how often it came in a row
}

// excerpt keeps of a step what is worth reading: its first lines, those around its first and its
// last error, and its last. It needs the same memory for any number of lines.
type excerpt struct {
	mask  func(string) string
	count int
	head  []logLine
	ring  [ringLines]logLine // the newest, by stored%ringLines
	// stored is how many lines have gone through the ring.
	stored int

	first, last   int // lines with the first and the last error; 0: none
	atFirst       []logLine
	atLast        []logLine
	firstPending  int // lines that still go to atFirst
	lastPending   int // lines until atLast is taken from the ring
	lastCandidate int
}

func newExcerpt(mask func(string) string) *excerpt { return &excerpt{mask: mask} }

func (x *excerpt) lines() int { return x.count }

func (x *excerpt) push(text []byte) {
	x.count++
	if text == nil {
		return
	}
	if newest := x.newest(); newest != nil && newest.n+newest.times == x.count && bytes.Equal(newest.text, text) {
		x.repeat(newest)
		return
	}
	slot := &x.ring[x.stored%ringLines]
	slot.n, slot.times, slot.text = x.count, 1, append(slot.text[:0], text...)
	x.stored++
	if len(x.head) < headLines {
		x.head = append(x.head, slot.clone())
	}
	x.errors(slot)
}

func (x *excerpt) newest() *logLine {
	if x.stored == 0 {
		return nil
	}
	return &x.ring[(x.stored-1)%ringLines]
}

// repeat counts a line that came again, wherever it is kept.
func (x *excerpt) repeat(newest *logLine) {
	newest.times++
	for _, kept := range [][]logLine{x.head, x.atFirst} {
		if n := len(kept); n > 0 && kept[n-1].n == newest.n {
			kept[n-1].times = newest.times
		}
	}
}

// errors keeps the surroundings of the first error, and of what may turn out to be the last.
func (x *excerpt) errors(line *logLine) {
	if x.firstPending > 0 {
		x.atFirst = append(x.atFirst, line.clone())
		x.firstPending--
	}
	if x.lastPending > 0 {
		if x.lastPending--; x.lastPending == 0 {
			x.keepLast()
		}
	}
	if !isError(line.text) {
		return
	}
	if x.first == 0 {
		x.first, x.firstPending = line.n, around
		x.atFirst = x.newestLines(nil, around+1)
		return
	}
	if x.lastPending == 0 {
		x.lastPending = around
	}
	x.lastCandidate = line.n
}

// keepLast takes the surroundings of the newest error out of the ring, which is done at most once
// in as many lines as it then holds on one side.
func (x *excerpt) keepLast() { x.last, x.atLast = x.lastCandidate, x.newestLines(x.atLast, ringLines) }

// newestLines copies the newest n lines, into memory that is free again.
func (x *excerpt) newestLines(free []logLine, n int) []logLine {
	n = min(n, x.stored, ringLines)
	kept := slices.Grow(free[:0], n)[:n]
	for i := range kept {
		from := &x.ring[(x.stored-n+i)%ringLines]
		kept[i].n, kept[i].times, kept[i].text = from.n, from.times, append(kept[i].text[:0], from.text...)
	}
	return kept
}

func (l *logLine) clone() logLine { return logLine{n: l.n, text: bytes.Clone(l.text), times: l.times} }

// anchors are how tools say that something went wrong, by a character that must be there too: most
// lines have none, which is seen faster.
var anchors = []struct {
	needs byte
	words [][]byte
}{
	{':', [][]byte{[]byte("rror:"), []byte("panic:"), []byte("fatal:"), []byte("Traceback")}},
	{'F', [][]byte{[]byte("FAIL")}},
	{'E', [][]byte{[]byte("ERROR")}},
	{'A', [][]byte{[]byte("Assertion")}},
	{'x', [][]byte{[]byte("exit code")}},
	{'k', [][]byte{[]byte("not ok ")}},
	{0xE2, [][]byte{[]byte("✗"), []byte("✕")}},
}

// epilogue is what the runner says at the end of every failed step. It is at the end, so it is
// shown, and says nothing of the error.
var epilogue = []byte("##[error]Process completed with exit code")

func isError(text []byte) bool {
	if bytes.HasPrefix(text, errorMark) {
		return !bytes.HasPrefix(text, epilogue)
	}
	for _, a := range anchors {
		if bytes.IndexByte(text, a.needs) < 0 {
			continue
		}
		for _, w := range a.words {
			if bytes.Contains(text, w) {
				return true
			}
		}
	}
	return false
}

// candidates are all lines kept, in order and each once.
func (x *excerpt) candidates() []logLine {
	if x.lastPending > 0 {
		x.keepLast()
		x.lastPending = 0
	}
	all := slices.Concat(x.head, x.atFirst, x.atLast, x.newestLines(nil, tailLines))
	slices.SortStableFunc(all, func(a, b logLine) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(b.times, a.times)) })
	return slices.CompactFunc(all, func(a, b logLine) bool { return a.n == b.n })
}

// rank says how soon a line is shown; the lowest is first.
func (x *excerpt) rank(l logLine, index int) int {
	rank := min(x.count-l.n, headLines+l.n)
	if index == 0 { // what was run
		rank = 0
	}
	for _, at := range []int{x.first, x.last} {
		if at > 0 {
			rank = min(rank, max(at-l.n, l.n-at))
		}
	}
	return rank
}

// shownLine is a candidate as it is printed.
type shownLine struct {
	logLine
	words string
	rank  int
}

func printed(l logLine, mask func(string) string) shownLine {
	words := readable(l.text, mask)
	if l.times > 1 {
		words += fmt.Sprintf("  [came %d times]", l.times)
	}
	return shownLine{logLine: l, words: words}
}

// render gives the excerpt, at most max bytes of it, and which of the step's lines it shows.
func (x *excerpt) render(max int) (words string, shown []string) {
	var all []shownLine
	for i, l := range x.candidates() {
		line := printed(l, x.mask)
		line.rank = x.rank(l, i)
		all = append(all, line)
	}
	return layOut(fitLines(all, max), x.count)
}

// fitLines takes the lines of lowest rank that fit.
func fitLines(all []shownLine, max int) []shownLine {
	const marks = 200 // bytes, for what is said of left-out lines
	byRank := slices.Clone(all)
	slices.SortStableFunc(byRank, func(a, b shownLine) int { return cmp.Compare(a.rank, b.rank) })
	fits := map[int]bool{}
	room := max - marks
	for _, l := range byRank {
		if room -= len(l.words) + 1; room < 0 {
			break
		}
		fits[l.n] = true
	}
	return slices.DeleteFunc(all, func(l shownLine) bool { return !fits[l.n] })
}

// layOut joins lines and marks what was left out between them.
func layOut(lines []shownLine, total int) (words string, shown []string) {
	var b strings.Builder
	from, next := 1, 1
	end := func(until int) {
		if until > from {
			shown = append(shown, fmt.Sprintf("%d-%d", from, until-1))
		}
	}
	for _, l := range lines {
		if l.n > next {
			end(next)
			fmt.Fprintf(&b, "[… %d lines …]\n", l.n-next)
			from = l.n
		}
		b.WriteString(l.words + "\n")
		next = l.n + l.times
	}
	end(next)
	if left := total - next + 1; left > 0 {
		fmt.Fprintf(&b, "[… %d lines …]\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n"), shown
}
