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
	out := cut(data, from, to)
	if i > 0 && it.comma < 0 {
		comma := h.items[i-1].comma
		out = cut(out, comma, comma+1)
	}
	return out
}
