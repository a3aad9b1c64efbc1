package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"
)

// maxBatch bounds how many messages one body may hold.
const maxBatch = 32

// message is one JSON-RPC message, decoded once. What goes on to mcp-go is built anew from it:
// encoding/json takes "ID" and "METHOD" too and lets the last one win, so that bytes which were
// only looked at could say something else to the next reader.
type message struct {
	id     json.RawMessage // as the client wrote it; nil in a notification
	method string          // "" in a response
	quoted json.RawMessage // method, as the client wrote it
	params params
}

// params holds the members of params that any method of ours reads.
type params struct {
	Name            json.RawMessage `json:"name"`
	URI             json.RawMessage `json:"uri"`
	Arguments       json.RawMessage `json:"arguments"`
	Cursor          json.RawMessage `json:"cursor"`
	ProtocolVersion json.RawMessage `json:"protocolVersion"`
	Capabilities    json.RawMessage `json:"capabilities"`
	ClientInfo      json.RawMessage `json:"clientInfo"`
	Meta            json.RawMessage `json:"_meta"`
}

// envelope is decoded by the rules of encoding/json, which are mcp-go's too.
type envelope struct {
	JSONRPC json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  params          `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// readMessage decodes one message. A message that cannot be answered as a request, a
// notification or a response is a fault, with the id in it where there is a fit one.
func readMessage(raw []byte) (message, *fault) {
	var e envelope
	err := json.Unmarshal(raw, &e)
	var shape *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &shape) {
		return message{}, &fault{code: codeParse, text: "the body is not valid JSON"}
	}
	if shape != nil && shape.Field == "" {
		return message{}, &fault{code: codeInvalidRequest, text: "a message must be one JSON object"}
	}
	m := message{params: e.Params}
	if e.ID != nil {
		if !fitID(e.ID) {
			return message{}, &fault{code: codeInvalidRequest, text: "an id must be a string or a whole number"}
		}
		m.id = e.ID
	}
	if text, ok := asString(e.JSONRPC); !ok || text != "2.0" {
		return message{}, m.fault(codeInvalidRequest, `a message must say "jsonrpc": "2.0"`)
	}
	if e.Method == nil && (e.Result != nil || e.Error != nil) {
		return m, nil
	}
	method, ok := asString(e.Method)
	if !ok || method == "" {
		return message{}, m.fault(codeInvalidRequest, "a message must have a method, and its name must be a string")
	}
	m.method, m.quoted = method, e.Method
	if shape != nil {
		return message{}, m.fault(codeInvalidParams, "params must be an object")
	}
	return m, nil
}

// rebuilt is a request as mcp-go gets it, under another id and with nothing in it but what was
// read. Each member is valid JSON already, so it is put together and not encoded again.
func (m message) rebuilt(id uint64) json.RawMessage {
	out := make([]byte, 0, 256)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = strconv.AppendUint(out, id, 10)
	out = append(append(out, `,"method":`...), m.quoted...)
	out = append(out, `,"params":{`...)
	p, first := m.params, true
	member := func(name string, value json.RawMessage) {
		if value == nil {
			return
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(append(out, '"'), name...), `":`...)
		out = append(out, value...)
	}
	member("name", p.Name)
	member("uri", p.URI)
	member("arguments", p.Arguments)
	member("cursor", p.Cursor)
	member("protocolVersion", p.ProtocolVersion)
	member("capabilities", p.Capabilities)
	member("clientInfo", p.ClientInfo)
	member("_meta", p.Meta)
	return append(out, "}}"...)
}

func (m message) isRequest() bool  { return m.method != "" && m.id != nil }
func (m message) isResponse() bool { return m.method == "" }

// fitID takes strings and whole numbers, as the schema of every protocol version does.
func fitID(id json.RawMessage) bool {
	switch id[0] {
	case '"':
		return true
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return integral(string(id))
	}
	return false
}

func asString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// absent says that a member is missing or null, which mean the same here.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// checkText refuses a body that is no UTF-8: encoding/json would put U+FFFD in place of bytes
// that somebody meant.
func checkText(body []byte) *fault {
	if !utf8.Valid(body) {
		return &fault{code: codeParse, text: "the body is not valid UTF-8"}
	}
	return nil
}

func isBatch(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] == '['
}

// splitBatch cuts a batch into its messages and stops at the first that is too many.
func splitBatch(body []byte) ([]json.RawMessage, *fault) {
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil, &fault{code: codeParse, text: "the body is not valid JSON"}
	}
	var messages []json.RawMessage
	for d.More() {
		if len(messages) == maxBatch {
			return nil, &fault{code: codeInvalidRequest, text: "the batch holds too many messages; send at most 32"}
		}
		var m json.RawMessage
		if err := d.Decode(&m); err != nil {
			return nil, &fault{code: codeParse, text: "the body is not valid JSON"}
		}
		messages = append(messages, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, &fault{code: codeParse, text: "the body is not valid JSON"}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &fault{code: codeParse, text: "something follows the batch"}
	}
	if len(messages) == 0 {
		return nil, &fault{code: codeInvalidRequest, text: "the batch is empty"}
	}
	return messages, nil
}

// mayBatch: only revision 2025-03-26 has batches, and its clients may send no version header.
func mayBatch(h http.Header) bool {
	v := headerVersion(h)
	return v == "" || v == version20250326
}
