package server

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed tools/*.json
var definitions embed.FS

// definition reads one of our own tools' definitions.
func definition(name string) (json.RawMessage, error) {
	return fs.ReadFile(definitions, "tools/"+name+".json")
}

// tool is a Tool made ready: decoded once, and shared by the servers of all workspaces.
type tool struct {
	Tool
	name   string
	write  bool
	shown  mcp.Tool // as tools/list gives it; strings and schema bytes are shared
	schema *jsonschema.Schema
	inputs []input
	brief  string // what it takes, for the end of a refusal

	mirrored bool // its schema has arguments that a client repeats in headers
}

// input is one property of a tool's schema.
type input struct {
	name     string
	required bool
	integer  bool
	nonEmpty bool // a string that must hold a character that can be seen
}

// catalog is what every workspace is served. It never changes; another takes its place.
type catalog struct {
	tools     map[string]*tool
	names     []string // sorted
	resources []resource
}

func newCatalog(tools []Tool) (*catalog, error) {
	c := &catalog{tools: map[string]*tool{}}
	for _, t := range tools {
		ready, err := newTool(t)
		if err != nil {
			return nil, err
		}
		if c.tools[ready.name] != nil {
			return nil, fmt.Errorf("two tools are called %q", ready.name)
		}
		c.tools[ready.name] = ready
		c.names = append(c.names, ready.name)
	}
	slices.Sort(c.names)
	return c, nil
}

func newTool(t Tool) (*tool, error) {
	d := struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		InputSchema json.RawMessage    `json:"inputSchema"`
		Annotations mcp.ToolAnnotation `json:"annotations"`
	}{}
	if err := json.Unmarshal(t.Definition, &d); err != nil {
		return nil, fmt.Errorf("read a tool's definition: %w", err)
	}
	a := d.Annotations
	if d.Name == "" || t.Run == nil {
		return nil, fmt.Errorf("the tool %q lacks a name or a function", d.Name)
	}
	if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
		return nil, fmt.Errorf("the tool %s does not set all four annotations", d.Name)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, d.InputSchema); err != nil {
		return nil, fmt.Errorf("the tool %s has no input schema: %w", d.Name, err)
	}
	ready := &tool{Tool: t, name: d.Name, write: !*a.ReadOnlyHint, shown: mcp.Tool{
		Name: d.Name, Description: d.Description, RawInputSchema: compact.Bytes(), Annotations: a,
	}}
	if err := mcp.ValidateParamHeaderAnnotations(&ready.shown); err != nil {
		return nil, fmt.Errorf("the tool %s: %w", d.Name, err)
	}
	ready.mirrored = len(mcp.ExtractParamHeaderBindings(&ready.shown)) > 0
	return ready, ready.compile()
}

func (t *tool) compile() error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.shown.RawInputSchema))
	if err != nil {
		return fmt.Errorf("the tool %s: %w", t.name, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	// A schema may refer to nothing outside itself: no file, no network.
	c.UseLoader(jsonschema.SchemeURLLoader{})
	where := "tool:" + t.name
	if err := c.AddResource(where, doc); err != nil {
		return fmt.Errorf("the tool %s: %w", t.name, err)
	}
	if t.schema, err = c.Compile(where); err != nil {
		return fmt.Errorf("the tool %s: %w", t.name, err)
	}
	for name, p := range t.schema.Properties {
		t.inputs = append(t.inputs, input{
			name: name, required: slices.Contains(t.schema.Required, name),
			integer:  p.Types != nil && slices.Equal(p.Types.ToStrings(), []string{"integer"}),
			nonEmpty: p.MinLength != nil && *p.MinLength > 0,
		})
	}
	slices.SortFunc(t.inputs, func(a, b input) int { return cmp.Compare(a.name, b.name) })
	t.brief = t.takes()
	return nil
}

// takes says in one clause what the tool takes.
func (t *tool) takes() string {
	var required, optional []string
	for _, in := range t.inputs {
		if in.required {
			required = append(required, in.name)
		} else {
			optional = append(optional, in.name)
		}
	}
	switch {
	case len(t.inputs) == 0:
		return "it takes no arguments"
	case len(optional) == 0:
		return "it takes " + strings.Join(required, ", ")
	case len(required) == 0:
		return "it takes at most " + strings.Join(optional, ", ")
	}
	return "it takes " + strings.Join(required, ", ") + ", and optionally " + strings.Join(optional, ", ")
}
