package adapter

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// message is what the adapter reads of one JSON-RPC message. It never writes one anew: the
// slices are parts of the text that they were read from.
type message struct {
	id     []byte // as written; nil if absent
	idAt   int    // where id begins in the text
	method string // "" if absent or not a string
	params []byte
	result []byte
	fault  []byte // the member "error"
	rpc    bool   // it says "jsonrpc": "2.0"
}

// kind is what a message is for the transport.
type kind int

const (
	malformed kind = iota // neither of the three below
	request
	notification
	response
)

// parse reads text, a valid JSON object. Names are compared exactly and the last of two equal
// ones counts, whatever a server that folds case may see.
func parse(text []byte) message {
	var m message
	members(text, func(name, value []byte, at int) {
		switch string(name) {
		case "jsonrpc":
			m.rpc = string(value) == `"2.0"`
		case "id":
			m.id, m.idAt = value, at
		case "method":
			m.method = unquote(value)
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.fault = value
		}
	})
	return m
}

func (m message) kind() kind {
	_, identified := idKey(m.id)
	switch {
	case m.method != "" && m.id == nil:
		return notification
	case m.method != "" && identified:
		return request
	case m.method == "" && m.id != nil && (m.result != nil || m.fault != nil):
		return response
	}
	return malformed
}

// answers says that m is a result or an error for the request with this key.
func (m message) answers(key string) bool {
	k, ok := idKey(m.id)
	return ok && k == key && m.isAnswer()
}

func (m message) isAnswer() bool {
	return m.rpc && m.method == "" && (m.result != nil || m.fault != nil)
}

// anonymous says that m is an error without an id: a refusal raised before the body was read.
func (m message) anonymous() bool {
	return m.method == "" && m.fault != nil && (m.id == nil || string(m.id) == "null")
}

// idKey gives two spellings of one id the same key, and a number never that of a string. It
// reports false for what cannot be an id: null, booleans, arrays, objects.
func idKey(id []byte) (string, bool) {
	switch {
	case len(id) == 0:
		return "", false
	case id[0] == '"':
		if bytes.IndexByte(id, '\\') < 0 {
			return string(id[:len(id)-1]), true
		}
		return `"` + unquote(id), true
	case id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return "", false
	case !bytes.ContainsAny(id, ".eE"):
		return string(id), true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	if err != nil {
		return string(id), true
	}
	return strconv.FormatFloat(f, 'f', -1, 64), true
}

// field gives the member name of object, or nil where object is none or lacks it.
func field(object []byte, name string) []byte {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	var found []byte
	members(object, func(n, value []byte, _ int) {
		if string(n) == name {
			found = value
		}
	})
	return found
}

// unquote gives the text of a JSON string, and "" for any other value.
func unquote(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// members visits the members of text, a valid JSON object, in order: the unescaped name, the
// value as written, and where the value begins.
func members(text []byte, visit func(name, value []byte, at int)) {
	for i := next(text, next(text, 0)+1); text[i] != '}'; {
		end := skip(text, i)
		name := text[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(unquote(text[i:end]))
		}
		at := next(text, next(text, end)+1) // past the colon
		end = skip(text, at)
		visit(name, text[at:end], at)
		if i = next(text, end); text[i] == ',' {
			i = next(text, i+1)
		}
	}
}

// elements visits the elements of text, a valid JSON array, in order.
func elements(text []byte, visit func(value []byte)) {
	for i := next(text, next(text, 0)+1); text[i] != ']'; {
		end := skip(text, i)
		visit(text[i:end])
		if i = next(text, end); text[i] == ',' {
			i = next(text, i+1)
		}
	}
}

// next gives the index of the first byte at or after i that is no white space.
func next(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' {
		i++
	}
	return i
}

// skip gives the index after the JSON value that begins at i.
func skip(text []byte, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			i = skipScalar(text, i)
		}
		if depth == 0 {
			return i
		}
	}
}

func skipString(text []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(text[i:], '"')
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

func skipScalar(text []byte, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}
