package adapter

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// modernVersion is the first protocol revision without initialize, in which every request
// carries its version, and HTTP headers that repeat parts of the body.
const modernVersion = "2026-07-28"

// versionKey is where a modern request has its version, in params._meta.
const versionKey = "io.modelcontextprotocol/protocolVersion"

// modernOf gives the version that a modern message states of itself, "" for a legacy one.
func modernOf(params []byte) string {
	return unquote(field(field(params, "_meta"), versionKey))
}

// header makes the headers that standard input and output have no place for. A legacy message
// carries the version that initialize negotiated, a modern one what its body says: a server
// refuses a modern header on a legacy body. See the revision 2026-07-28, basic/transports,
// "Streamable HTTP".
func (s *session) header(c *call, t *target) http.Header {
	h := http.Header{
		"Accept":       s.accept,
		"Content-Type": s.contentType,
		"User-Agent":   s.userAgent,
	}
	if s.checking {
		h[checkHeader] = []string{"1"}
	}
	if t.bearer != nil {
		h["Authorization"] = t.bearer
	}
	version := modernOf(c.message.params)
	switch {
	case version != "":
		set(h, "Mcp-Protocol-Version", version)
		set(h, "Mcp-Method", c.message.method)
		if name := nameOf(c.message); name != nil {
			set(h, "Mcp-Name", unquote(name))
		}
	case c.message.method != methodInitialize:
		if version = s.negotiated(); version != "" && version < modernVersion {
			set(h, "Mcp-Protocol-Version", version)
		}
	}
	return h
}

// nameOf gives the member that Mcp-Name repeats, nil for a method that has none.
func nameOf(m message) []byte {
	switch m.method {
	case "tools/call", "prompts/get":
		return field(m.params, "name")
	case "resources/read":
		return field(m.params, "uri")
	}
	return nil
}

// set writes a header's value, in the Base64 form of the specification where it would not
// survive as it stands.
func set(h http.Header, name, value string) {
	if !headerSafe(value) {
		value = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
	}
	h[name] = []string{value}
}

// headerSafe says that a value survives as a header and cannot be mistaken for the Base64 form.
func headerSafe(value string) bool {
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	return strings.TrimSpace(value) == value && !strings.ContainsFunc(value, unprintable) &&
		(!strings.HasPrefix(value, "=?base64?") || !strings.HasSuffix(value, "?="))
}
