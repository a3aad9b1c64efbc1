package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlChange is a table of a TOML file with tables below it, which go to the file's end.
type tomlChange struct {
	place
	table []string
	lines []string   // of the table itself
	below []tomlPart // more tables, relative to it
	// open names a sub-table in which the harness itself keeps what the user decides. It
	// belongs to the registration, yet what it says does not make the registration another.
	open string
}

type tomlPart struct {
	table []string
	lines []string
}

func (c tomlChange) key() string { return strings.Join(c.table, ".") }

// text is the whole change.
func (c tomlChange) text(nl string) string {
	out := c.head(nl)
	for _, p := range c.below {
		out += nl + section(slices.Concat(c.table, p.table), p.lines, nl)
	}
	return out
}

func (c tomlChange) head(nl string) string { return section(c.table, c.lines, nl) }

// section writes one table, all of whose names are bare keys.
func section(table, lines []string, nl string) string {
	return "[" + strings.Join(table, ".") + "]" + nl + strings.Join(lines, nl) + nl
}

// tomlString writes s as a basic string.
func tomlString(s string) (string, error) {
	// Every JSON string without \/ is a TOML basic string but for DEL.
	text, err := compact(s)
	return strings.ReplaceAll(text, "\x7f", `\u007f`), err
}

func parseTOML(data []byte) (map[string]any, error) {
	all := map[string]any{}
	err := toml.Unmarshal(data, &all)
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		return nil, &syntaxError{what: fmt.Sprintf("line %d, column %d: %s", line, column, strings.TrimPrefix(at.Error(), "toml: "))}
	}
	if err != nil {
		return nil, &syntaxError{what: err.Error()}
	}
	return all, nil
}

// under gives what stands at path, nil for none.
func under(all map[string]any, path []string) (any, error) {
	var v any = all
	for i, name := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, &syntaxError{what: fmt.Sprintf("%q is not a table", strings.Join(path[:i], "."))}
		}
		if v, ok = table[name]; !ok {
			return nil, nil
		}
	}
	return v, nil
}

func (c tomlChange) find(data []byte) (string, error) {
	data, _ = bare(data)
	all, err := parseTOML(data)
	if err != nil {
		return "", err
	}
	v, err := under(all, c.table)
	if err != nil || v == nil {
		return "", err
	}
	if table, ok := v.(map[string]any); ok && c.open != "" {
		delete(table, c.open)
	}
	// Dates and infinities have no JSON; no registration of ours holds one.
	raw, err := json.Marshal(v)
	if err != nil {
		raw = fmt.Append(nil, v)
	}
	return hash(raw), nil
}

func (c tomlChange) want() (string, error) { return c.find([]byte(c.text("\n"))) }

func (c tomlChange) insert(data []byte) ([]byte, []span, int, error) {
	text := c.text(newline(data))
	body, _ := bare(data)
	if len(body) > 0 {
		text = newline(data) + text
		if !bytes.HasSuffix(body, []byte("\n")) {
			text = newline(data) + text
		}
	}
	out, added := add(data, addition{at: len(data), text: text})
	// An inline table, or a key with dots, can forbid a table of that name.
	if _, err := c.find(out); err != nil {
		return nil, nil, 0, &syntaxError{what: fmt.Sprintf("%q is written in a form that takes no [%s] (%v)", c.table[0], strings.Join(c.table, "."), err)}
	}
	return out, added, 0, nil
}

// extent is a table of ours in a file: from its header's line to the end of its last value's line.
type extent struct {
	from, to int
	own      bool // the table itself, not one below it
	comments []comment
}

// comment is one that the user wrote into a table of ours: we write none.
type comment struct{ from, to int }

// commentsOf finds the comments between from and the end of the line that holds at: behind at,
// and on the lines before it that are nothing else.
func commentsOf(data []byte, from, start, at int) []comment {
	var all []comment
	for line := from; line < lineStart(data, start); line = lineEnd(data, line) {
		text := data[line:lineEnd(data, line)]
		if bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("#")) {
			all = append(all, comment{line, line + len(text)})
		}
	}
	if i := bytes.IndexByte(data[at:lineEnd(data, at-1)], '#'); i >= 0 {
		all = append(all, comment{at + i, lineEnd(data, at-1)})
	}
	return all
}

// extents finds our tables in data, which has no mark and is valid.
func (c tomlChange) extents(data []byte) ([]extent, error) {
	var all []extent
	inside := false
	p := unstable.Parser{}
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			if inside {
				own, end := &all[len(all)-1], int(e.Raw.Offset+e.Raw.Length)
				own.comments = append(own.comments, commentsOf(data, own.to, int(e.Raw.Offset), end)...)
				own.to = lineEnd(data, end-1)
			}
			continue
		}
		var path []string
		var last unstable.Range
		for keys := e.Key(); keys.Next(); {
			path = append(path, string(keys.Node().Data))
			last = keys.Node().Raw
		}
		inside = len(path) >= len(c.table) && slices.Equal(path[:len(c.table)], c.table)
		if inside {
			start, end := int(last.Offset), int(last.Offset+last.Length)
			from := lineStart(data, start)
			all = append(all, extent{from, lineEnd(data, end-1), len(path) == len(c.table), commentsOf(data, from, start, end)})
		}
	}
	return all, p.Error()
}

func (c tomlChange) replace(data []byte) ([]byte, error) {
	body, off := bare(data)
	all, err := c.extents(body)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.own {
			out, _ := add(cut(data, off+e.from, off+e.to), addition{off + e.from, c.head(newline(data))})
			return out, nil
		}
	}
	return nil, c.formError()
}

func (c tomlChange) formError() error {
	return &syntaxError{what: fmt.Sprintf("%q is not written as a table [%s]", c.key(), c.key())}
}

func (c tomlChange) remove(data []byte, _ int) ([]byte, error) {
	body, off := bare(data)
	all, err := c.extents(body)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(body)
	for i := len(all) - 1; i >= 0; i-- {
		from := all[i].from
		// The blank line before a table is part of how it was added.
		if before := lineStart(out, max(from-1, 0)); from > 0 && len(bytes.TrimSpace(out[before:from])) == 0 {
			from = before
		}
		var kept []byte
		for _, c := range all[i].comments {
			kept = append(kept, body[c.from:c.to]...)
		}
		out = append(append(bytes.Clone(out[:from]), kept...), out[all[i].to:]...)
	}
	if left, err := c.find(out); err != nil || left != "" {
		return nil, errors.Join(err, c.formError())
	}
	return append(bytes.Clone(data[:off]), out...), nil
}
