package adapter

import (
	"slices"
)

// outside is a server without tools, for a harness that was started outside every workspace: a
// registration for all of a user's directories then works in each.
type outside struct{ version string }

// legacyVersions are the protocol revisions that begin with initialize, the newest last.
func legacyVersions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
}

const instructions = "This directory is not a Fleet workspace, so Fleet has no tools here. " +
	"Start the harness in a workspace, with: ship attach REPO/NAME"

type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type capabilities struct {
	Tools struct{} `json:"tools"`
}

// complete is what each result of a modern answer has.
type complete struct {
	ResultType string         `json:"resultType"`
	TTL        int            `json:"ttlMs"`
	Scope      string         `json:"cacheScope"`
	Meta       map[string]any `json:"_meta"`
}

type initialized struct {
	Version      string         `json:"protocolVersion"`
	Capabilities capabilities   `json:"capabilities"`
	Server       implementation `json:"serverInfo"`
	Instructions string         `json:"instructions"`
}

type discovered struct {
	complete
	Versions     []string     `json:"supportedVersions"`
	Capabilities capabilities `json:"capabilities"`
	Instructions string       `json:"instructions"`
}

type legacyTools struct {
	Tools []struct{} `json:"tools"`
}

type modernTools struct {
	complete
	legacyTools
}

// answer answers a request, in the era that its body names.
func (o *outside) answer(m message) []byte {
	version := modernOf(m.params)
	switch {
	case version != "" && version != modernVersion && !slices.Contains(legacyVersions(), version):
		return o.unsupported(m.id, version)
	case m.method == "tools/call":
		return (&failure{code: codeInvalidParams, message: "unknown tool: " + cut(printable(unquote(field(m.params, "name"))), maxLogBytes) +
			". This directory is not a Fleet workspace, so there are no tools"}).line(m.id)
	case version >= modernVersion:
		return o.modern(m)
	}
	return o.legacy(m)
}

func (o *outside) legacy(m message) []byte {
	switch m.method {
	case methodInitialize:
		return rpc(m.id, "result", initialized{Version: o.negotiate(m), Server: o.server(), Instructions: instructions})
	case "ping":
		return rpc(m.id, "result", struct{}{})
	case "tools/list":
		return rpc(m.id, "result", legacyTools{[]struct{}{}})
	}
	return o.unknown(m)
}

// modern answers in the revision 2026-07-28, which has no ping.
func (o *outside) modern(m message) []byte {
	switch m.method {
	case methodDiscover:
		return rpc(m.id, "result", discovered{complete: o.complete(), Versions: append(legacyVersions(), modernVersion), Instructions: instructions})
	case "tools/list":
		return rpc(m.id, "result", modernTools{o.complete(), legacyTools{[]struct{}{}}})
	}
	return o.unknown(m)
}

func (o *outside) unknown(m message) []byte {
	return (&failure{code: codeUnknownMethod, message: "unknown method: " + cut(printable(m.method), maxLogBytes)}).line(m.id)
}

// unsupported is the error of the revision 2026-07-28 for a version that a server lacks.
func (o *outside) unsupported(id []byte, version string) []byte {
	type data struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    data   `json:"data"`
	}
	return rpc(id, "error", fault{-32022, "unsupported protocol version", data{append(legacyVersions(), modernVersion), version}})
}

// negotiate gives the version that the client asked for if it is one with initialize, else the
// newest of those.
func (o *outside) negotiate(m message) string {
	versions := legacyVersions()
	if asked := unquote(field(m.params, "protocolVersion")); slices.Contains(versions, asked) {
		return asked
	}
	return versions[len(versions)-1]
}

func (o *outside) server() implementation { return implementation{serverName, o.version} }

func (o *outside) complete() complete {
	return complete{"complete", 0, "private", map[string]any{"io.modelcontextprotocol/serverInfo": o.server()}}
}

// answerAll answers a batch with a batch, nil where nothing in it has an id to be answered under.
func (o *outside) answerAll(batch []byte) []byte {
	var line []byte
	elements(batch, func(one []byte) {
		if one[0] != '{' {
			return
		}
		m := parse(one)
		_, identified := idKey(m.id)
		switch kind := m.kind(); {
		case kind == request:
			line = append(append(line, ','), o.answer(m)...)
		case kind == malformed && identified:
			line = append(append(line, ','), (&failure{code: codeInvalid, message: notAMessage}).line(m.id)...)
		}
	})
	if line == nil {
		return nil
	}
	line[0] = '['
	return append(line, ']')
}
