package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

const version20250326 = mcp.ProtocolVersion20250326

// headerVersion is what MCP-Protocol-Version says, all of it if it is there more than once.
func headerVersion(h http.Header) string {
	values := h[mcp.HeaderProtocolVersion]
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ", ")
}

func known(version string) bool { return slices.Contains(mcp.ValidProtocolVersions, version) }

// modern says that a version is of the era without a handshake, 2026-07-28 and later.
func modern(version string) bool { return known(version) && mcp.IsModernProtocol(version) }

// checkHeader is for messages that are not answered, of which only the header must be fit.
func checkHeader(h http.Header, m message) *fault {
	if v := headerVersion(h); v != "" && !known(v) {
		return unsupported(m, v)
	}
	return nil
}

// checkVersion decides the era of a request and holds its headers to its body. A header that
// differs is a mismatch before it is anything else; then an unknown version is unsupported; then
// what a modern request must have is missing.
//
// Specification 2026-07-28, basic/transports/streamable-http, "Protocol Version Header" and
// "Standard Headers".
func checkVersion(h http.Header, m message) (isModern bool, f *fault) {
	header := headerVersion(h)
	meta, capable, f := readMeta(m)
	if f != nil {
		return false, f
	}
	if meta == "" || known(meta) && !modern(meta) {
		return checkLegacy(header, meta, m)
	}
	if header != "" && header != meta {
		return true, m.fault(codeHeaderMismatch, "the header MCP-Protocol-Version differs from the version in params._meta")
	}
	missing, f := compareHeaders(h, m)
	switch {
	case f != nil:
		return true, f
	case !known(meta):
		return true, unsupported(m, meta)
	case header == "":
		missing = "MCP-Protocol-Version"
	}
	if missing != "" {
		return true, m.fault(codeHeaderMismatch, "the header "+missing+" is missing")
	}
	if !capable {
		return true, m.fault(codeInvalidParams, "params._meta must have the object "+mcp.MetaKeyClientCapabilities)
	}
	return true, nil
}

func checkLegacy(header, meta string, m message) (bool, *fault) {
	switch {
	case header == "" || header == meta:
		return false, nil
	case meta != "":
		return modern(header), m.fault(codeHeaderMismatch, "the header MCP-Protocol-Version differs from the version in params._meta")
	case !known(header):
		return true, unsupported(m, header)
	case modern(header):
		return true, m.fault(codeInvalidParams, "params._meta lacks "+mcp.MetaKeyProtocolVersion)
	}
	return false, nil
}

// readMeta reads what a modern request must say of itself: its version, and what its client is
// capable of. Only the exact keys count.
func readMeta(m message) (version string, capable bool, f *fault) {
	if absent(m.params.Meta) {
		return "", false, nil
	}
	var meta map[string]json.RawMessage
	if !isObject(m.params.Meta) || json.Unmarshal(m.params.Meta, &meta) != nil {
		return "", false, m.fault(codeInvalidParams, "params._meta must be an object")
	}
	raw, ok := meta[mcp.MetaKeyProtocolVersion]
	if !ok {
		return "", false, nil
	}
	if version, ok = asString(raw); !ok || version == "" {
		return "", false, m.fault(codeInvalidParams, "the protocol version in params._meta must be a string")
	}
	var capabilities mcp.ClientCapabilities
	raw = meta[mcp.MetaKeyClientCapabilities]
	capable = isObject(raw) && (string(raw) == "{}" || json.Unmarshal(raw, &capabilities) == nil)
	return version, capable, nil
}

// compareHeaders holds Mcp-Method and Mcp-Name to the body, and names the first that is missing.
func compareHeaders(h http.Header, m message) (missing string, f *fault) {
	method := strings.Join(h.Values(mcp.HeaderMethod), ", ")
	switch {
	case method == "":
		missing = mcp.HeaderMethod
	case method != m.method:
		return "", m.fault(codeHeaderMismatch, "the header Mcp-Method differs from the method in the body")
	}
	if !mcp.MethodRequiresNameHeader(mcp.MCPMethod(m.method)) {
		return missing, nil
	}
	raw := m.params.Name
	if m.method == string(mcp.MethodResourcesRead) {
		raw = m.params.URI
	}
	want, _ := asString(raw)
	name := strings.Join(h.Values(mcp.HeaderName), ", ")
	if name == "" {
		if missing == "" {
			missing = mcp.HeaderName
		}
		return missing, nil
	}
	if got, ok := mcp.DecodeHeaderValue(name); !ok || got != want {
		return "", m.fault(codeHeaderMismatch, "the header Mcp-Name differs from the name in the body")
	}
	return missing, nil
}

// compareParams holds the Mcp-Param headers to the arguments that t's schema has mirrored in them.
// No tool of Fleet's has any.
//
// Specification 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters".
func compareParams(h http.Header, t *tool, m message) *fault {
	if !t.mirrored {
		return nil
	}
	lookup := func(name string) (string, bool) {
		values, ok := h[http.CanonicalHeaderKey(name)]
		return strings.Join(values, ", "), ok
	}
	arguments := m.params.Arguments
	if absent(arguments) {
		arguments = noArguments
	}
	params := slices.Concat([]byte(`{"arguments":`), arguments, []byte("}"))
	var mismatch mcp.HeaderMismatchError
	switch err := mcp.ValidateParamHeadersLookup(lookup, &t.shown, params); {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		return m.fault(codeHeaderMismatch, "the header "+mismatch.Header+" differs from the argument that it mirrors")
	}
	return m.fault(codeHeaderMismatch, "a header differs from the argument that it mirrors")
}

func unsupported(m message, version string) *fault {
	f := m.fault(codeUnsupportedVersion, "this protocol version is not supported")
	f.data = map[string]any{"supported": mcp.ValidProtocolVersions, "requested": version}
	return f
}
