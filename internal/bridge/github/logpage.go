package github

import (
	"bytes"
	"strings"
)

// maxPage bounds what is shown of a log at once, where it is read from end to end.
const maxPage = 40 << 10

// page is a stretch of a step's lines, for who wants more than the excerpt.
type page struct {
	from  int // the first line to keep, from 1
	room  int // bytes
	count int
	kept  []logLine
	next  int // the first line that had no room; 0: none
	mask  func(string) string
}

func newPage(from int, mask func(string) string) *page {
	return &page{from: max(from, 1), room: maxPage, mask: mask}
}

func (p *page) lines() int { return p.count }

func (p *page) push(text []byte) {
	p.count++
	if text == nil || p.count < p.from || p.next != 0 {
		return
	}
	if n := len(p.kept); n > 0 && p.kept[n-1].n+p.kept[n-1].times == p.count && bytes.Equal(p.kept[n-1].text, text) {
		p.kept[n-1].times++
		return
	}
	if p.room -= min(len(text), maxLine) + 1; p.room < 0 && len(p.kept) > 0 {
		p.next = p.count
		return
	}
	p.kept = append(p.kept, logLine{n: p.count, text: bytes.Clone(text), times: 1})
}

// render gives the stretch, and where the next one begins; 0: nowhere.
func (p *page) render() (words string, shown []string, next int) {
	var all []shownLine
	for _, l := range p.kept {
		all = append(all, printed(l, p.mask))
	}
	// An escape-laden line takes more room in JSON than here.
	next = p.next
	for len(all) > 1 && indented(joinLines(all), "") > maxPage+maxPage/2 {
		half := len(all) / 2
		next, all = all[half].n, all[:half]
	}
	words, shown = layOut(all, 0)
	return words, shown, next
}

func joinLines(all []shownLine) string {
	var b strings.Builder
	for _, l := range all {
		b.WriteString(l.words + "\n")
	}
	return b.String()
}
