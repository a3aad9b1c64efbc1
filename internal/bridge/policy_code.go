package bridge

import (
	"regexp"
	"strings"
)

// hole takes the place of code. It is no blank, so that words beside it don't meet.
const hole = "\x00"

// prose is what of a text in Markdown a forge looks at for mentions and keywords: all but code. It
// takes for code only what is code to every reader: who could make a forge see less of it than
// prose does could hide a mention. See https://github.github.com/gfm/#code-spans and
// https://github.github.com/gfm/#fenced-code-blocks.
func prose(text string) string {
	var p proseReader
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	p.endBlock()
	return p.out.String()
}

// proseReader goes over a text line by line.
type proseReader struct {
	out   strings.Builder
	block []string // lines without a blank one between them
	fence string   // what opened the block of code that the line is in; "": none did
	depth int      // blanks before it
	lost  bool     // nobody can tell any more what is code: nothing counts as such
}

var (
	fenceLine = regexp.MustCompile("^( {0,3})(`{3,}|~{3,})(.*)$")
	// nestedFence opens a block of code in a list or quotation, which ends where that ends.
	nestedFence = regexp.MustCompile("^[ \t]*(?:(?:[-+*>]|[0-9]{1,9}[.)])[ \t]*)+(?:`{3,}|~{3,})|^(?: {4}| {0,3}\t)[ \t]*(?:`{3,}|~{3,})")
)

func (p *proseReader) line(line string) {
	opens := fenceLine.FindStringSubmatch(line)
	switch {
	case p.fence != "" && !p.lost:
		p.inFence(line)
	case strings.TrimSpace(line) == "":
		p.endBlock()
	case opens == nil || opens[2][0] == '`' && strings.Contains(opens[3], "`"): // which is a span of code
		p.lost = p.lost || nestedFence.MatchString(line)
		p.block = append(p.block, line)
	default:
		p.lost = p.lost || hasTag(withoutSpans(p.block)) // within HTML a fence may be none
		if p.endBlock(); p.lost {
			p.block = append(p.block, line)
			return
		}
		p.fence, p.depth = opens[2], len(opens[1])
		p.out.WriteString(hole + "\n")
	}
}

// inFence knows that a fence with blanks before it may stand in a list, and end with it.
func (p *proseReader) inFence(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	depth := len(line) - len(strings.TrimLeft(line, " "))
	if depth < p.depth {
		p.lost = true
		p.block = append(p.block, line)
		return
	}
	rest := strings.TrimRight(line[depth:], " \t")
	switch closes := len(rest) >= len(p.fence) && strings.Trim(rest, p.fence[:1]) == ""; {
	case closes && depth < 4:
		p.fence = ""
	case closes && p.depth > 0: // in a list it ends here, and elsewhere it doesn't
		p.lost = true
	}
}

func (p *proseReader) endBlock() {
	text := withoutSpans(p.block)
	if p.lost || hasTag(text) || swallowed.MatchString(text) {
		p.out.WriteString(strings.Join(p.block, "\n"))
	} else {
		p.out.WriteString(text)
	}
	p.out.WriteString("\n\n")
	p.lost = p.lost || rawHTML.MatchString(text)
	p.block = nil
}

var (
	htmlTag   = regexp.MustCompile(`<[A-Za-z/!?]`)
	plainLink = regexp.MustCompile("<https?://[^\\s<>`\x00]*>")
	// rawHTML goes on over blank lines.
	rawHTML = regexp.MustCompile(`(?i)<(?:pre|script|style|textarea|!|\?)`)
	// swallowed finds code that may begin within a link's address or title, an address or a formula, and
	// so not be any.
	swallowed = regexp.MustCompile("\\]\\([^)]*[(<\"'\\\\`\x00]|(?m:^ {0,3}\\[[^\\]]*\\]:)|\\$[`\x00]|<[^\\s<>]*[`\x00]|(?i:://|www\\.)[^\\s<`\x00]*[`\x00]")
)

// hasTag says that there is HTML, within which nothing need be Markdown.
func hasTag(text string) bool { return htmlTag.MatchString(plainLink.ReplaceAllString(text, "")) }

// withoutSpans cuts the spans of code out of lines. Where a paragraph begins and ends depends on more
// than blank lines; so they count where every line has all that begins in it end in it, and is read
// alike from wherever one begins to read. A table's cells are read apart: what holds a border of one
// doesn't count.
func withoutSpans(lines []string) string {
	cut := make([]string, len(lines))
	for i, line := range lines {
		found, whole := spans(line)
		if !whole {
			return strings.Join(lines, "\n")
		}
		last := 0
		for _, at := range found {
			if !strings.Contains(line[at[0]:at[1]], "|") {
				cut[i] += line[last:at[0]] + hole
				last = at[1]
			}
		}
		cut[i] += line[last:]
	}
	return strings.Join(cut, "\n")
}

// spans finds where code begins and ends: at backticks, and at the next as many of them. whole: all
// backticks belong to code.
func spans(line string) (found [][2]int, whole bool) {
	whole = true
	for i := 0; i < len(line); {
		n := backticks(line[i:])
		switch {
		case line[i] == '\\' && i+1 < len(line) && (line[i+1] == '`' || line[i+1] == '\\'):
			i += 2
		case n == 0:
			i++
		default:
			from := i
			if i = closing(line, from+n, n); i < 0 {
				i, whole = from+n, false
				continue
			}
			found = append(found, [2]int{from, i})
		}
	}
	return found, whole
}

// closing gives where, from a place on, the next n backticks end; -1: nowhere.
func closing(line string, from, n int) int {
	for from < len(line) {
		m := backticks(line[from:])
		if m == n {
			return from + m
		}
		from += max(m, 1)
	}
	return -1
}

func backticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }
