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
