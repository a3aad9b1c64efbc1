package atlas_test

import (
	"testing"

	"fleet/internal/atlas"
)

func TestQuotedWordsSurviveAShell(t *testing.T) {
	for text, want := range map[string]string{
		"plain/path-1.x": "plain/path-1.x", "": "''", "é b": "'é b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a;b": "'a;b'",
		"a\nb'\\": `$'a\012b\047\134'`, "\x1b]0;é\a": `$'\033]0;\303\251\007'`, "a\u202eb": `$'a\342\200\256b'`, "\xff": `$'\377'`,
	} {
		if got := atlas.Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}
