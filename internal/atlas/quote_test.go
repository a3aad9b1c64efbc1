package atlas_test

import (
	"testing"

	"fleet/internal/atlas"
)

func TestQuotedWordsSurviveAShell(t *testing.T) {
	for text, want := range map[string]string{
		"plain/path-1.x": "plain/path-1.x", "": "''", "é b": "'é b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a;b": "'a;b'",
	} {
		if got := atlas.Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}
