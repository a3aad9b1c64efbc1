package bridge

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text as a reader sees it: without what is invisible, and with the plain form of
// letters that only look different, such as fullwidth ones. at tells where each byte of text
// stands in the original, and has one more entry for its end.
type folded struct {
	text string
	at   []int
}

// fold gives the folded form of s, and false where that is s itself.
func fold(s string) (folded, bool) {
	if plainASCII(s) {
		return folded{}, false
	}
	var b strings.Builder
	b.Grow(len(s))
	at := make([]int, 0, len(s)+1)
	for i, r := range s {
		if invisible(r) || isSelector(r) {
			continue
		}
		from := b.Len()
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
		} else if d := norm.NFKC.PropertiesString(s[i:]).Decomposition(); d != nil && plainASCII(string(d)) {
			b.Write(d)
		} else {
			b.WriteRune(r)
		}
		for range b.Len() - from {
			at = append(at, i)
		}
	}
	return folded{b.String(), append(at, len(s))}, true
}

// span gives where in the original the bytes from one to another of the folded text stand. What is
// invisible at their end goes with them.
func (f folded) span(from, to int) [2]int { return [2]int{f.at[from], f.at[to]} }

// spans does so with each, in place.
func (f folded) spans(all [][2]int) [][2]int {
	for i, at := range all {
		all[i] = f.span(at[0], at[1])
	}
	return all
}
