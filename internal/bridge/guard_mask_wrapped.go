package bridge

import (
	"encoding/binary"
	"strings"
)

// A secret's encoded form may be wrapped over lines, with whatever a log, a quote or YAML puts
// before each of them, and cut where an excerpt is. So it is looked for in parts, each by itself.
const (
	// partSize is what tells a part from other text, in characters: 72 bits of a secret in base64, 48
	// in hexadecimal.
	partSize = 12
	// edgeSize is enough where the first or the last part of a secret in base64 ends or begins a word.
	edgeSize = 6
	// filterBits is the size of the filter: at two secrets of the usual size, one in fifty of what is
	// no part passes.
	filterBits = 16

	base64Alphabets = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
)

type (
	part [partSize]byte
	edge [edgeSize]byte
)

// parts are those of the encoded forms of some secrets. nil: of none. It is never changed.
type parts struct {
	encodes      [256]bool // base64 in one of its alphabets, or hexadecimal, has the character
	inner        map[part]struct{}
	filter       [1 << filterBits / 64]uint64 // by the hash of the first four bytes of each part and edge: most text ends here
	begins, ends map[edge][]string            // forms, by their first and last characters
}

// newParts takes the forms of each secret, of which the first is the secret itself: that is no
// part of anything, since parts of it may be words.
func newParts(secrets []knownSecret) *parts {
	p := &parts{inner: map[part]struct{}{}, begins: map[edge][]string{}, ends: map[edge][]string{}}
	for _, c := range []byte(base64Alphabets) {
		p.encodes[c] = true
	}
	for _, secret := range secrets {
		for n, form := range secret.forms[1:] {
			for i := 0; i+partSize <= len(form); i++ {
				p.inner[part([]byte(form[i:i+partSize]))] = struct{}{}
				p.let(form[i:])
			}
			if n > 0 { // in hexadecimal, six digits are 24 bits, and every commit's id has some
				p.addEdges(form)
			}
		}
	}
	return p
}

func (p *parts) addEdges(form string) {
	if len(form) < edgeSize {
		return
	}
	first, last := edgeOf(form, 0), edgeOf(form, len(form)-edgeSize)
	p.begins[first] = append(p.begins[first], form)
	p.ends[last] = append(p.ends[last], form)
	p.let(form)
	p.let(form[len(form)-edgeSize:])
}

func filterAt(s string) uint32 {
	first := binary.LittleEndian.Uint32([]byte(s[:4]))
	return first * 2_654_435_761 >> (32 - filterBits) // Knuth's multiplicative hash
}

// let has what begins like s pass the filter.
func (p *parts) let(s string) {
	at := filterAt(s)
	p.filter[at/64] |= 1 << (at % 64)
}

func (p *parts) passes(s string) bool {
	at := filterAt(s)
	return p.filter[at/64]&(1<<(at%64)) != 0
}

func edgeOf(s string, at int) edge { return edge([]byte(s[at : at+edgeSize])) }

// find gives where in text parts stand, in order. It takes one look at each character.
func (p *parts) find(text string) (found [][2]int) {
	if p == nil {
		return nil
	}
	for from := 0; from < len(text); from++ {
		to := from
		for to < len(text) && p.encodes[text[to]] {
			to++
		}
		if to-from >= edgeSize {
			found = p.findIn(text, from, to, found)
		}
		from = to
	}
	return found
}

// findIn looks into one word of text.
func (p *parts) findIn(text string, from, to int, found [][2]int) [][2]int {
	word, before := text[from:to], len(found)
	add := func(begin, end int) {
		if n := len(found); n > before && begin <= found[n-1][1] {
			found[n-1][1] = max(found[n-1][1], end)
			return
		}
		found = append(found, [2]int{begin, end})
	}
	for rest := word; len(rest) >= edgeSize; rest = rest[1:] {
		if n := p.tail(rest); n > 0 {
			add(to-len(rest), to-len(rest)+n)
		}
		if rest[0] != '+' && rest[0] != '-' && rest[0] != '/' { // what a patch or a comment puts before a line
			break
		}
	}
	for i := 0; i+partSize <= len(word); i++ {
		if p.has(word[i:]) {
			add(from+i, from+i+partSize)
		}
	}
	if n := p.head(word); n > 0 {
		add(to-n, to)
	}
	return found
}

func (p *parts) has(s string) bool {
	if !p.passes(s) {
		return false
	}
	_, is := p.inner[part([]byte(s[:partSize]))]
	return is
}

// tail is how many characters, fewer than a part, at the beginning of word are the end of a form.
func (p *parts) tail(word string) int {
	for n := min(len(word), partSize-1); n >= edgeSize; n-- {
		if !p.passes(word[n-edgeSize:]) {
			continue
		}
		for _, form := range p.ends[edgeOf(word, n-edgeSize)] {
			if strings.HasSuffix(form, word[:n]) {
				return n
			}
		}
	}
	return 0
}

// head is how many characters, fewer than a part, at the end of word are the beginning of a form.
func (p *parts) head(word string) int {
	for n := min(len(word), partSize-1); n >= edgeSize; n-- {
		if !p.passes(word[len(word)-n:]) {
			continue
		}
		for _, form := range p.begins[edgeOf(word, len(word)-n)] {
			if strings.HasPrefix(form, word[len(word)-n:]) {
				return n
			}
		}
	}
	return 0
}
