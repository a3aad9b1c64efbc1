package server

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestToolsTakeWhatTheDocumentSays(t *testing.T) {
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	described := map[string]any{}
	for name, schema := range doc.Components.Schemas {
		if tool, ok := strings.CutSuffix(name, "_input"); ok {
			described[tool] = bareSchema(t, schema)
		}
	}
	if names := slices.Sorted(maps.Keys(described)); !slices.Equal(names, thirteen) {
		t.Errorf("the document has the inputs of %v, want %v", names, thirteen)
	}
	for _, name := range thirteen {
		raw, err := definition(name)
		if err != nil {
			t.Fatal(err)
		}
		var d struct{ InputSchema any }
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		if got := bareSchema(t, d.InputSchema); !reflect.DeepEqual(got, described[name]) {
			t.Errorf("%s takes\n%v, and in the document\n%v", name, got, described[name])
		}
	}
}

// bareSchema is a schema as JSON has it, without what it says to people.
func bareSchema(t *testing.T, schema any) any {
	t.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s any
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	withoutDescriptions(s)
	return s
}

// withoutDescriptions takes the keyword description away, and not a property of that name.
func withoutDescriptions(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	delete(s, "description")
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		withoutDescriptions(p)
	}
	withoutDescriptions(s["items"])
	// A set's order means nothing.
	if required, ok := s["required"].([]any); ok {
		slices.SortFunc(required, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
}
