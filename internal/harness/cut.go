package harness

import "bytes"

func (c jsonChange) remove(data []byte, made int) ([]byte, error) {
	body, off := bare(data)
	h, i, err := c.locate(body)
	if err != nil || i < 0 {
		return data, err
	}
	body = without(body, h, i)
	path := c.path
	if !c.element {
		path = path[:len(path)-1]
	}
	for ; made > 0 && len(path) > 0; made-- {
		h, _, found, err := descend(body, path)
		if err != nil {
			return nil, err
		}
		if found == nil {
			break
		}
		inner, ok := hold(*found)
		if !ok || len(inner.items) > 0 || len(bytes.TrimSpace(body[inner.open+1:inner.close])) > 0 {
			break
		}
		name := path[len(path)-1]
		for i, it := range h.items {
			if it.name == name {
				body = without(body, h, i)
				break
			}
		}
		path = path[:len(path)-1]
	}
	return append(bytes.Clone(data[:off]), body...), nil
}

// without takes item i out of h, with the line that it began and the comma that it no longer needs.
// The comments in it, which the user wrote, stay in its place.
func without(data []byte, h holder, i int) []byte {
	it := h.items[i]
	from, to := it.start, it.end
	if it.comma >= 0 {
		to = it.comma + 1
	}
	lead := bytes.TrimRight(data[:from], " \t")
	switch {
	case bytes.HasSuffix(lead, []byte("\n")):
		from = len(bytes.TrimSuffix(bytes.TrimSuffix(lead, []byte("\n")), []byte("\r")))
	case i > 0:
		from = len(lead)
	case it.comma >= 0:
		to += len(data[to:]) - len(bytes.TrimLeft(data[to:], " \t"))
	}
	var kept string
	nl := newline(data)
	for _, c := range jsonComments(data[it.start:it.end]) {
		kept += nl + indent(data, it.start) + c
	}
	if kept != "" && !bytes.HasSuffix(lead, []byte("\n")) {
		kept += nl // what follows on the line would be in the comment
	}
	out, _ := add(cut(data, from, to), addition{from, kept})
	if i > 0 && it.comma < 0 {
		comma := h.items[i-1].comma
		out = cut(out, comma, comma+1)
	}
	return out
}

// jsonComments lists the comments in valid JSON.
func jsonComments(data []byte) []string {
	var all []string
	for i := 0; i < len(data); i++ {
		rest := data[i:]
		end := 0
		switch {
		case rest[0] == '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			end = bytes.IndexByte(append(bytes.Clone(rest), '\n'), '\n')
		case bytes.HasPrefix(rest, []byte("/*")):
			end = 2 + bytes.Index(rest[2:], []byte("*/")) + 2
		default:
			continue
		}
		all = append(all, string(bytes.TrimRight(rest[:end], "\r")))
		i += end - 1
	}
	return all
}
