package bridge

import (
	"strings"
	"testing"
)

func BenchmarkFoldOfAForeignText(b *testing.B) {
	text := strings.Repeat("žluť 日本 हिन्दी plain words ｆｕｌｌ\u200b ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, differs := fold(text); !differs {
			b.Fatal("it is taken for ASCII")
		}
	}
}

func TestAFoldedTextKnowsWhereItStands(t *testing.T) {
	const text = "é\u200bＡb\ufe0f\xffﬁ½c"
	f, _ := fold(text)
	if want := "éAb\ufffdfi½c"; f.text != want {
		t.Errorf("folded %q, want %q", f.text, want)
	}
	for part, want := range map[string]string{"A": "Ａ", "b": "b\ufe0f", "fi": "ﬁ", "c": "c", "é": "é\u200b"} {
		i := strings.Index(f.text, part)
		at := f.span(i, i+len(part))
		if got := text[at[0]:at[1]]; got != want {
			t.Errorf("%q stands at %q, want %q", part, got, want)
		}
	}
}
