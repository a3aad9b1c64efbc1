package toolset_test

import (
	"errors"
	"strings"
	"testing"

	"fleet/api"
)

// TestHalfADocumentIsNoResource: a client that reads a resource sees no sign of a cut.
func TestHalfADocumentIsNoResource(t *testing.T) {
	tool := `{"name":"NAME","description":"d","input":{"type":"object","additionalProperties":false},"args":[],"output":"NAME"}`
	resource := `{"uri":"mine://NAME","name":"NAME","mime_type":"text/plain","tool":"NAME"}`
	each := func(text string) string {
		return strings.ReplaceAll(text, "NAME", "text") + "," + strings.ReplaceAll(text, "NAME", "json")
	}
	b := speaker(t, declare(t, `{"toolset":"mine","max_output_bytes":1024,"tools":[`+each(tool)+`],"resources":[`+each(resource)+`]}`))
	for name, c := range map[string]struct {
		output, printed string
		whole           bool
	}{
		"text that just fits":           {"text", strings.Repeat("x", 1024), true},
		"text that is one byte longer":  {"text", strings.Repeat("x", 1025), false},
		"text that its mending cuts":    {"text", strings.Repeat("\xffx", 500), false},
		"JSON that just fits":           {"json", `"` + strings.Repeat("x", 1022) + `"`, true},
		"JSON that is one byte longer":  {"json", `"` + strings.Repeat("x", 1023) + `"`, false},
		"JSON that a cut leaves intact": {"json", `"` + strings.Repeat("x", 1000) + `"` + strings.Repeat("\n", 100), false},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.say(0, c.printed)
			document, err := b.set.ReadResource(t.Context(), b.place(), "mine://"+c.output)
			text := document.Text
			if c.whole {
				if err != nil || text != c.printed {
					t.Errorf("ReadResource = %d bytes, %v; want the %d that were printed", len(text), err, len(c.printed))
				}
				return
			}
			var e *api.Error
			if text != "" || !errors.As(err, &e) || e.Code != api.Unavailable || !strings.Contains(e.Message, "1024 bytes") {
				t.Errorf("ReadResource = %d bytes, %v; want an error with code unavailable that says how much is too much", len(text), err)
			}
		})
	}
}
