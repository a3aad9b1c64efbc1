package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	codeParse              = mcp.PARSE_ERROR
	codeInvalidRequest     = mcp.INVALID_REQUEST
	codeMethodNotFound     = mcp.METHOD_NOT_FOUND
	codeInvalidParams      = mcp.INVALID_PARAMS
	codeInternal           = mcp.INTERNAL_ERROR
	codeHeaderMismatch     = mcp.HEADER_MISMATCH
	codeMissingCapability  = mcp.MISSING_REQUIRED_CLIENT_CAPABILITY
	codeUnsupportedVersion = mcp.UNSUPPORTED_PROTOCOL_VERSION
)

// fault is a JSON-RPC error to be. A nil id is left out, as 2025-11-25 and later have it where
// the request's id is not known.
type fault struct {
	id   json.RawMessage
	code int
	text string
	data any
}

func (m message) fault(code int, text string) *fault { return &fault{id: m.id, code: code, text: text} }

// status is the HTTP status under which a fault travels. Older revisions send a JSON-RPC error
// as they send a result; since 2026-07-28 a method that is not there is 404 and so on.
func (f *fault) status(isModern bool) int {
	switch f.code {
	case codeParse, codeInvalidRequest, codeHeaderMismatch, codeUnsupportedVersion:
		return http.StatusBadRequest
	case codeMethodNotFound:
		if isModern {
			return http.StatusNotFound
		}
	case codeInvalidParams, codeMissingCapability:
		if isModern {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

func (f *fault) encode() []byte {
	details := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{f.code, f.text, f.data}
	raw, err := json.Marshal(details)
	if err != nil {
		// Data is ours, or mcp-go's; without it nothing can fail.
		details.Data = nil
		raw, _ = json.Marshal(details)
	}
	return answer(f.id, "error", raw)
}

// answer puts the client's own id bytes beside a result or an error.
func answer(id json.RawMessage, member string, value []byte) []byte {
	out := make([]byte, 0, len(id)+len(member)+len(value)+32)
	out = append(out, `{"jsonrpc":"2.0",`...)
	if id != nil {
		out = append(append(append(out, `"id":`...), id...), ',')
	}
	out = append(append(append(out, '"'), member...), `":`...)
	return append(append(out, value...), '}')
}

// send writes one JSON body, always in full and with its length.
func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// refuseHTTP answers a request that is turned away before its body was read, so without an id.
func refuseHTTP(w http.ResponseWriter, status int, text string) {
	send(w, status, (&fault{code: codeInvalidRequest, text: text}).encode())
}

// encodeCall writes how a call ended as the result that the request's era has for it. identity is
// what a modern result says of the server, a member of _meta.
func encodeCall(done outcome, isModern bool, identity string) ([]byte, error) {
	var content any = done.content
	if done.content == nil {
		content = [1]mcp.TextContent{{Type: "text", Text: done.text}}
	}
	items, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	var meta []string
	var further []string
	if done.declared != nil {
		if meta, further, err = members(done.declared); err != nil {
			return nil, err
		}
	}
	if done.repositoryText {
		meta = append(meta, `"fleet/repository-text":true`)
	}
	if isModern {
		meta = append(meta, identity)
	}
	out := append(make([]byte, 0, len(items)+256), '{')
	if meta != nil {
		out = append(append(append(out, `"_meta":{`...), strings.Join(meta, ",")...), "},"...)
	}
	if isModern {
		out = append(out, `"resultType":"`+string(mcp.ResultTypeComplete)+`",`...)
	}
	out = append(append(out, `"content":`...), items...)
	for _, member := range further {
		out = append(append(out, ','), member...)
	}
	if done.isError {
		out = append(out, `,"isError":true`...)
	}
	return append(out, '}'), nil
}
