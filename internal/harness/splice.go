package harness

import (
	"bytes"
	"strings"

	"github.com/tailscale/hujson"
)

// layout is how a file is written.
type layout struct {
	nl, unit string
	lines    bool // items stand on lines of their own
	colon    string
}

// layoutOf reads the layout of a file with the root v; a blank file has two spaces a level.
func layoutOf(data []byte, v hujson.Value) layout {
	l := layout{nl: newline(data), unit: "  ", lines: true, colon: ": "}
	root, ok := hold(v)
	if !ok || len(root.items) == 0 {
		return l
	}
	l.lines = bytes.IndexByte(data[root.open:root.close], '\n') >= 0
	first := root.items[0]
	if before := data[root.open+1 : first.start]; bytes.IndexByte(before, '\n') >= 0 {
		if unit := indent(data, first.start); unit != "" {
			l.unit = unit
		}
	}
	if i := bytes.IndexByte(data[first.start:first.end], ':'); i >= 0 && first.start+i+1 == first.value.StartOffset {
		l.colon = ":"
	}
	return l
}

// render writes t as it stands on a line that starts with prefix.
func (l layout) render(t fresh, prefix string) (string, error) {
	value, colon := t.value, l.colon
	if l.lines {
		var err error
		if value, err = pretty(value, prefix, l.unit, l.nl); err != nil {
			return "", err
		}
	}
	if t.name == "" {
		return value, nil
	}
	return t.name + colon + value, nil
}

func (c jsonChange) insert(data []byte) ([]byte, []span, int, error) {
	body, off := bare(data)
	h, depth, found, err := descend(body, c.path)
	if err != nil {
		return nil, nil, 0, err
	}
	if found != nil { // of an element: its array
		h, _ = hold(*found)
	}
	t, err := c.nested(depth)
	if err != nil {
		return nil, nil, 0, err
	}
	made := len(c.path) - depth
	if !c.element {
		made = max(made-1, 0)
	}
	v, ok, err := parseJSON(body)
	if err != nil {
		return nil, nil, 0, err
	}
	l := layoutOf(body, v)
	var additions []addition
	if !ok {
		whole, err := pretty("{"+t.name+":"+t.value+"}", "", l.unit, l.nl)
		if err != nil {
			return nil, nil, 0, err
		}
		additions = []addition{{at: len(body), text: whole + l.nl}}
	} else if additions, err = l.additions(body, h, t, c.first); err != nil {
		return nil, nil, 0, err
	}
	for i := range additions {
		additions[i].at += off
	}
	out, added := add(data, additions...)
	return out, added, made, nil
}

// additions puts one more item into h: behind the last one and a comment on its line, or before
// the first one.
func (l layout) additions(data []byte, h holder, t fresh, first bool) ([]addition, error) {
	around := indent(data, h.open)
	if len(h.items) == 0 {
		item, err := l.render(t, around+l.unit)
		if err != nil || !l.lines {
			return []addition{{at: h.open + 1, text: item}}, err
		}
		end := l.nl + around
		rest := data[h.open+1 : h.close]
		if bytes.IndexByte(rest, '\n') >= 0 {
			end = "" // the closing brace has its own line
		}
		at := h.open + 1 + sameLine(rest)
		if len(bytes.TrimSpace(rest)) > 0 { // comments: behind the last of them
			at = h.open + 1 + len(bytes.TrimRight(rest, " \t\r\n"))
		}
		return []addition{{at: at, text: l.nl + around + l.unit + item + end}}, nil
	}
	inline := bytes.IndexByte(data[h.open+1:h.items[0].start], '\n') < 0
	if inline {
		l.lines = false
	}
	prefix := indent(data, h.items[0].start)
	item, err := l.render(t, prefix)
	if err != nil {
		return nil, err
	}
	if first {
		return l.before(data, h, item, prefix), nil
	}
	return l.behind(data, h, item, prefix), nil
}

func (l layout) before(data []byte, h holder, item, prefix string) []addition {
	if !l.lines {
		return []addition{{at: h.items[0].start, text: item + "," + strings.TrimPrefix(l.colon, ":")}}
	}
	at := h.open + 1 + sameLine(data[h.open+1:h.items[0].start])
	return []addition{{at: at, text: l.nl + prefix + item + ","}}
}

func (l layout) behind(data []byte, h holder, item, prefix string) []addition {
	last := h.items[len(h.items)-1]
	sep := strings.TrimPrefix(l.colon, ":") // ", " where a space follows colons, too
	if l.lines {
		sep = l.nl + prefix
	}
	if h.trailing() {
		at := last.comma + 1
		if l.lines {
			at += sameLine(data[at:h.close])
		}
		return []addition{{at: at, text: sep + item + ","}}
	}
	at := last.end
	if l.lines {
		at += sameLine(data[at:h.close])
	}
	if at == last.end {
		return []addition{{at: at, text: "," + sep + item}}
	}
	return []addition{{at: last.end, text: ","}, {at: at, text: sep + item}}
}

// sameLine is the length of the comments that share the line with what stands before extra, 0
// where there are none.
func sameLine(extra []byte) int {
	rest := extra
	for {
		rest = bytes.TrimLeft(rest, " \t\r")
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			return len(extra) - len(rest) + len(bytes.TrimRight(rest[:end], "\r"))
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest, []byte("*/"))
			if end < 0 || bytes.IndexByte(rest[:end], '\n') >= 0 {
				return 0
			}
			rest = rest[end+2:]
			if bytes.IndexByte(rest, '\n') >= 0 && len(bytes.TrimLeft(rest[:bytes.IndexByte(rest, '\n')], " \t\r")) == 0 || len(bytes.TrimSpace(rest)) == 0 {
				return len(extra) - len(rest)
			}
		default:
			return 0
		}
	}
}

func (c jsonChange) replace(data []byte) ([]byte, error) {
	body, off := bare(data)
	h, i, err := c.locate(body)
	if err != nil || i < 0 {
		return nil, err
	}
	v, _, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	it := h.items[i]
	text, err := compact(c.value)
	if err != nil {
		return nil, err
	}
	l := layoutOf(body, v)
	l.lines = l.lines && bytes.IndexByte(body[it.start:it.end], '\n') >= 0
	if l.lines {
		if text, err = pretty(text, indent(body, it.start), l.unit, l.nl); err != nil {
			return nil, err
		}
	}
	out, _ := add(cut(data, off+it.value.StartOffset, off+it.end), addition{off + it.value.StartOffset, text})
	return out, nil
}
