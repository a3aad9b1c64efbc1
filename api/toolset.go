package api

import "embed"

//go:embed toolset.schema.json
var toolsetSchema embed.FS

// ToolsetSchema is the text of toolset.schema.json, the JSON Schema (2020-12) of the files in
// which an operator declares command-line tools. The caller may keep it.
func ToolsetSchema() []byte {
	raw, _ := toolsetSchema.ReadFile("toolset.schema.json") // embedded, so it cannot fail
	return raw
}

// The states of a toolset that atlas.json names.
const (
	ToolsetServed   = "served"
	ToolsetChecking = "checking" // its contract check runs; it is served once that holds
	ToolsetBroken   = "broken"   // it is tried again when the atlas is read again
)

// Toolset says how a toolset that atlas.json names stands. Tools and Resources are what it has to
// give, whether they are served or not; they are empty where its declaration cannot be read.
type Toolset struct {
	Use       string   `json:"use"`  // as atlas.json names it
	Name      string   `json:"name"` // its own name; "" where its declaration cannot be read
	State     string   `json:"state"`
	Problem   string   `json:"problem,omitempty"` // why it is not served
	Tools     []string `json:"tools"`
	Resources []string `json:"resources"` // their URIs
}
