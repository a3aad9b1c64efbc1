package main

import (
	"strings"
	"testing"
)

func TestColumnsStandUnderEachOtherWhateverIsInThem(t *testing.T) {
	var tab table
	for _, cell := range []string{"NAME", "plain", "世界", "👍👍👍", "e\u0301e\u0301", "a\u202e\x1b[2Jb", "a\tb\nc", "\xff", "ﾊﾝ", ""} {
		tab.row(cell, "|", "last")
	}
	for _, line := range tab.lines() {
		before, _, ok := strings.Cut(line, "|")
		if !ok || textWidth(before) != 8 {
			t.Errorf("in %q the second column begins at %d, want 8", line, textWidth(before))
		}
	}
}

func TestALongCellDoesNotHideTheNext(t *testing.T) {
	var tab table
	tab.row(strings.Repeat("世", 1000), "next", strings.Repeat("x", 1000))
	line := tab.lines()[0]
	before, after, _ := strings.Cut(line, "next")
	if w := textWidth(before); w > widestCell+2 || !strings.Contains(before, "…") || !strings.HasSuffix(after, strings.Repeat("x", 1000)) {
		t.Errorf("a long cell takes %d columns, want at most %d and a mark; the last cell is %d long", w, widestCell+2, len(after))
	}
}
