package main

import (
	"os"
	"strings"
	"testing"
)

// names are the first cells of a table's lines.
func names(markdown string) []string {
	var list []string
	for line := range strings.Lines(markdown) {
		if cells := strings.Split(line, "|"); len(cells) == 7 {
			list = append(list, strings.TrimSpace(cells[1]))
		}
	}
	return list
}

// blank is the table of a run that measured nothing.
func blank() *table {
	t := &table{machine: "no machine"}
	for _, m := range measurements() {
		t.add(m.title, m.blank()...)
	}
	return t
}

func TestREADMEShowsTheRowsThatARunPrints(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(raw), "<!-- bench -->\n")
	shown, _, ends := strings.Cut(rest, "<!-- /bench -->\n")
	if !begins || !ends {
		t.Fatal("README lacks its marks <!-- bench --> and <!-- /bench -->")
	}
	var printed strings.Builder
	if err := blank().markdown(&printed); err != nil {
		t.Fatal(err)
	}
	want, got := names(printed.String()), names(shown)
	if len(want) < 20 {
		t.Fatalf("a run prints %d rows; the test's eyes are bad:\n%s", len(want), &printed)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("README's table has the rows\n%s\nand go -C internal/bench run . -markdown prints\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.HasPrefix(shown, "Measured on ") || strings.Contains(shown, "| – |") {
		t.Errorf("README's table does not say where it was measured, or lacks values:\n%s", shown)
	}
}

func TestMarkdownShowsWhatComparesOrHasATarget(t *testing.T) {
	all := &table{machine: "2 processors"}
	all.add("a part",
		row{"good", "×", series{1, 1.25, 1.5}, atMost(1.5), "5 ms ÷ 4 ms"},
		row{"bad", "ms", series{120}, atMost(100), ""},
		row{"absent", "×", nil, atLeast(40), ""},
		row{"told", "MiB", series{8}, limit{}, ""},
		row{"compared", "×", series{2}, limit{}, ""})
	var out strings.Builder
	if err := all.markdown(&out); err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(out.String(), "|---|\n")
	const want = `| **a part** | | | | |
| good | 1.25 × | 1.12 × … 1.38 × | ≤ 1.5 | 5 ms ÷ 4 ms |
| bad | 120 ms |  | ≤ 100, NOT MET |  |
| absent | – |  | ≥ 40, not measured |  |
| compared | 2.00 × |  |  |  |
`
	if rows != want || !strings.HasPrefix(out.String(), "Measured on 2 processors. ") {
		t.Errorf("markdown wrote\n%s\nwant, below its head,\n%s", out.String(), want)
	}
}
