package adapter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The JSON-RPC codes that the adapter itself answers with. It never invents one of MCP's own
// (-32020 to -32099): from those a client concludes which revision the server speaks.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeUnknownMethod = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// maxQuoted bounds what is quoted of a foreign answer.
const maxQuoted = 1 << 10

// failure is why a request gets an error of the adapter's own.
type failure struct {
	code    int    // 0 means codeInternal
	message string // what failed and what to do next; ends up in front of a model
	status  int    // of the HTTP answer, 0 if there was none
	quoted  string // the beginning of its body
	retry   int    // its Retry-After in seconds, 0 if it named none
	cause   error  // for errors.Is; never shown
}

// Error gives the message.
func (f *failure) Error() string { return f.message }

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.cause }

// quoting makes f carry what resp and its body say. The token is removed, should a body echo it.
func (f *failure) quoting(resp *http.Response, body []byte, secret string) *failure {
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	if secret != "" {
		text = strings.ReplaceAll(text, secret, "fleet_[redacted]")
	}
	f.status, f.quoted = resp.StatusCode, cut(text, maxQuoted)
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		f.retry = seconds
	}
	return f
}

// cut shortens text to at most limit bytes without breaking a rune.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// line is the error as one JSON-RPC message for the request with this id; a nil id stands for
// "cannot be known" and leaves the member out.
func (f *failure) line(id []byte) []byte {
	type data struct {
		Status     int    `json:"status"`
		Body       string `json:"body"`
		RetryAfter int    `json:"retry_after_seconds,omitempty"`
	}
	var fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    *data  `json:"data,omitempty"`
	}
	fault.Code, fault.Message = f.code, f.message
	if f.code == 0 {
		fault.Code = codeInternal
	}
	if f.status != 0 {
		fault.Data = &data{f.status, f.quoted, f.retry}
	}
	return rpc(id, "error", fault)
}

// rpc is one JSON-RPC answer with a member result or error.
func rpc(id []byte, member string, value any) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0",`)
	if id != nil {
		b.WriteString(`"id":`)
		b.Write(id)
		b.WriteByte(',')
	}
	b.WriteString(`"` + member + `":`)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // plain structs of ours; a Buffer takes every write
	b.Truncate(b.Len() - 1)
	b.WriteByte('}')
	return b.Bytes()
}
