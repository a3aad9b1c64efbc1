package harness

import "errors"

// wholeFile is a file that belongs to us alone.
type wholeFile struct {
	place
	text string
}

func (c wholeFile) key() string { return "" }

func (c wholeFile) find(data []byte) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	return hash(data), nil
}

func (c wholeFile) want() (string, error) { return hash([]byte(c.text)), nil }

func (c wholeFile) insert(data []byte) ([]byte, []span, int, error) {
	if len(data) > 0 {
		return nil, nil, 0, errors.New("there is something in it")
	}
	out, added := add(nil, addition{text: c.text})
	return out, added, 0, nil
}

func (c wholeFile) replace([]byte) ([]byte, error)     { return []byte(c.text), nil }
func (c wholeFile) remove([]byte, int) ([]byte, error) { return nil, nil }
