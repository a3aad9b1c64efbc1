package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonChange is a member of an object, or an element of an array, of a JSON file that may have
// comments and trailing commas.
type jsonChange struct {
	place
	path    []string // of the member, or of the array
	value   any
	element bool
	first   bool // the element goes before the others
}

func (c jsonChange) key() string {
	key := strings.Join(c.path, "/")
	if c.element {
		text, _ := compact(c.value)
		key += "[]=" + text
	}
	return key
}

// holder is an object or an array with its items' offsets, in the file without its mark.
type holder struct {
	open, close int // of the braces
	array       bool
	items       []item
}

type item struct {
	name       string
	start, end int // from the name to the value's end
	comma      int // offset of the comma behind it, -1 for none
	value      hujson.Value
}

func (h holder) trailing() bool { return len(h.items) > 0 && h.items[len(h.items)-1].comma >= 0 }

// hold takes v apart; false: it is no object and no array.
func hold(v hujson.Value) (holder, bool) {
	h := holder{open: v.StartOffset, close: v.EndOffset - 1}
	itemOf := func(name string, start int, v hujson.Value, last bool) item {
		i := item{name: name, start: start, end: v.EndOffset, comma: -1, value: v}
		// The parser tells a trailing comma by whether the last value has an AfterExtra.
		if !last || v.AfterExtra != nil {
			i.comma = v.EndOffset + len(v.AfterExtra)
		}
		return i
	}
	switch t := v.Value.(type) {
	case *hujson.Object:
		for i, m := range t.Members {
			name := m.Name.Value.(hujson.Literal).String()
			h.items = append(h.items, itemOf(name, m.Name.StartOffset, m.Value, i == len(t.Members)-1))
		}
	case *hujson.Array:
		h.array = true
		for i, e := range t.Elements {
			h.items = append(h.items, itemOf("", e.StartOffset, e, i == len(t.Elements)-1))
		}
	default:
		return h, false
	}
	return h, true
}

// parseJSON reads data, which has no mark. Blank data has no root: false.
func parseJSON(data []byte) (hujson.Value, bool, error) {
	if len(bytes.Trim(data, " \t\r\n")) == 0 { // no more than what JSON calls white space
		return hujson.Value{}, false, nil
	}
	v, err := hujson.Parse(data)
	if err != nil {
		return v, false, &syntaxError{what: strings.TrimPrefix(err.Error(), "hujson: ")}
	}
	return v, true, nil
}

// descend follows path from the root of data as far as it goes. It gives the last holder on the
// way and how many names were found; found is the value at the end of a path that is there.
func descend(data []byte, path []string) (h holder, depth int, found *hujson.Value, err error) {
	v, ok, err := parseJSON(data)
	if err != nil || !ok {
		return holder{open: -1}, 0, nil, err
	}
	for {
		next, ok := hold(v)
		if depth == len(path) {
			return h, depth, &v, nil
		}
		if !ok || next.array {
			return h, depth, nil, shapeError(data, v, path[:depth], "an object")
		}
		h = next
		at := slices.IndexFunc(h.items, func(i item) bool { return i.name == path[depth] })
		if at < 0 {
			return h, depth, nil, nil
		}
		for _, other := range h.items[at+1:] {
			if other.name == path[depth] {
				return h, depth, nil, &syntaxError{what: fmt.Sprintf("%s: %q is there twice", position(data, other.start), path[depth])}
			}
		}
		v = h.items[at].value
		depth++
	}
}

func position(data []byte, at int) string {
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(data[:at], []byte("\n")), 1+at-lineStart(data, at))
}

// shapeError says that the value at path is not what the harness documents.
func shapeError(data []byte, v hujson.Value, path []string, want string) error {
	what := "the file"
	if len(path) > 0 {
		what = fmt.Sprintf("%q", strings.Join(path, "."))
	}
	return &shape{syntaxError{what: fmt.Sprintf("%s: %s is not %s", position(data, v.StartOffset), what, want)}}
}

// locate finds the change's own item: its holder and index, -1 for none.
func (c jsonChange) locate(data []byte) (holder, int, error) {
	h, depth, found, err := descend(data, c.path)
	if err != nil || found == nil {
		return h, -1, err
	}
	if !c.element {
		return h, slices.IndexFunc(h.items, func(i item) bool { return i.name == c.path[depth-1] }), nil
	}
	list, ok := hold(*found)
	if !ok || !list.array {
		return h, -1, shapeError(data, *found, c.path, "an array")
	}
	want, err := c.want()
	if err != nil {
		return list, -1, err
	}
	for i, e := range list.items {
		if got, err := meaning(e.value); err == nil && got == want {
			return list, i, nil
		}
	}
	return list, -1, nil
}

// meaning is the digest of a value.
func meaning(v hujson.Value) (string, error) {
	plain := v.Clone()
	plain.Standardize()
	return digestJSON(plain.Pack())
}

func digestJSON(raw []byte) (string, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	return digest(v)
}

func (c jsonChange) find(data []byte) (string, error) {
	data, _ = bare(data)
	h, i, err := c.locate(data)
	if err != nil || i < 0 {
		return "", err
	}
	return meaning(h.items[i].value)
}

func (c jsonChange) want() (string, error) {
	text, err := compact(c.value)
	if err != nil {
		return "", err
	}
	return digestJSON([]byte(text))
}

// fresh is a new item in compact JSON; an array's has no name.
type fresh struct{ name, value string }

// nested writes what is missing of the path from depth on, and the value in it.
func (c jsonChange) nested(depth int) (fresh, error) {
	value, err := compact(c.value)
	if err != nil || depth == len(c.path) {
		return fresh{value: value}, err
	}
	if c.element {
		value = "[" + value + "]"
	}
	for i := len(c.path) - 1; ; i-- {
		name, err := compact(c.path[i])
		if err != nil || i == depth {
			return fresh{name, value}, err
		}
		value = "{" + name + ":" + value + "}"
	}
}

// pretty lays JSON out over lines that start with prefix.
func pretty(text, prefix, unit, nl string) (string, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), prefix, unit); err != nil {
		return "", err
	}
	return strings.ReplaceAll(out.String(), "\n", nl), nil
}
