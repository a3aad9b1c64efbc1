// Package toolset serves command-line tools that the operator declares beside Fleet's own: each
// call of a tool is one process with a fixed command and an argument array, in the workspace.
//
// It knows no server, no token and no MCP library. What an agent sends can fill the places that
// a declaration leaves for it, and nothing else: it is never part of a shell's text and can never
// be read as an option. The format is api/toolset.schema.json; two declarations are built in.
//
// A path is checked before the command starts and opened by the command after. Only a sandbox,
// which the operator puts in front as the command's prefix (bwrap …), closes the gap between.
package toolset

import (
	"encoding/json"

	"fleet/api"
)

// Toolset is a declaration made ready. It is safe for concurrent use and never changes.
type Toolset struct {
	host     Host
	source   string
	declared declaration
	command  []string // a program's absolute path, then its fixed arguments
	roots    []string
	environ  []string
	tools    map[string]*tool
	contract *step
}

// Name is the toolset's own name, such as "suspec".
func (t *Toolset) Name() string { return t.declared.Toolset }

// Source is what atlas.json named it by: builtin:NAME or a path.
func (t *Toolset) Source() string { return t.source }

// Command is the fixed prefix of every process that t starts: an absolute program, then its
// arguments. The caller may keep it.
func (t *Toolset) Command() []string { return append([]string(nil), t.command...) }

// Contract is the argument array that Verify runs, or nil where the declaration has no contract
// check. The caller may keep it.
func (t *Toolset) Contract() []string {
	if t.contract == nil {
		return nil
	}
	argv := t.Command()
	for _, a := range t.contract.Args {
		argv = append(argv, a.Literal)
	}
	return argv
}

// Tool is a tool as tools/list shows it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is the envelope's where the toolset has one, else absent: the shape of a
	// command's own output is its own business.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations"`

	// RepositoryText says that results hold text which was written by whoever writes in the
	// repository. Results then carry the mark in their Meta.
	RepositoryText bool `json:"-"`
}

// Annotations are MCP's four hints. Every declared tool reads only and stays in its workspace.
type Annotations struct {
	ReadOnlyHint    bool `json:"readOnlyHint"`
	DestructiveHint bool `json:"destructiveHint"`
	IdempotentHint  bool `json:"idempotentHint"`
	OpenWorldHint   bool `json:"openWorldHint"`
}

// Resource is a resource as resources/list shows it.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType"`
}

// Place is where a call runs: the folder of the workspace that the caller's token opens. It is
// absolute and exists; symlinks in it are resolved here.
type Place struct{ Dir string }

// Result is what a call answers. Its texts are valid UTF-8. What the command printed takes
// max_output_bytes in them at most; without an envelope, what was cut ends in "[truncated]".
type Result struct {
	Text       []string        // one text item each; never empty
	Structured json.RawMessage // structuredContent: one JSON object, or nil
	IsError    bool
	// Refused says that the arguments did not allow it, and nothing was started (IsError too), or
	// that the command itself declined in the words of its contract: within an envelope, that is
	// no error.
	Refused bool
	// Meta is the result's _meta, nil for most.
	Meta map[string]any
	// Session is the session that the caller named, checked to be a plain word; "" without one.
	Session string
	// Err is for the operator's log alone: why a process could not be run. It may name paths.
	Err error

	partial bool // without an envelope: the text is not all that the command printed
}

// Outcome is the result in the words of an event: api.OutcomeOK, OutcomeRefused or OutcomeError.
func (r Result) Outcome() string {
	switch {
	case r.Refused:
		return api.OutcomeRefused
	case r.IsError:
		return api.OutcomeError
	}
	return api.OutcomeOK
}

// Tools lists the tools in the order of the declaration.
func (t *Toolset) Tools() []Tool {
	list := make([]Tool, 0, len(t.declared.Tools))
	for _, d := range t.declared.Tools {
		list = append(list, t.tools[d.Name].shown)
	}
	return list
}

// Resources lists the resources in the order of the declaration. A server declares the
// capability only while this is not empty for some toolset that it serves.
func (t *Toolset) Resources() []Resource {
	list := make([]Resource, 0, len(t.declared.Resources))
	for _, d := range t.declared.Resources {
		list = append(list, Resource{URI: d.URI, Name: d.Name, Title: d.Title, Description: d.Description, MIMEType: d.MIMEType})
	}
	return list
}
