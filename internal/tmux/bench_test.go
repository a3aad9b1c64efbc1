package tmux

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPanesOfSixtySessions reads what a look at sixty sessions gives, without tmux's own part.
func BenchmarkPanesOfSixtySessions(b *testing.B) {
	row := layout{[]string{"#{session_name}", "#{pane_id}", "#{pane_dead}", "#{pane_dead_status}", "#{pane_dead_signal}", "#{window_activity}"}, "#{pane_current_command}"}
	var format string
	run := func(context.Context, string, ...string) (string, error) {
		mark, _, _ := strings.Cut(format, separator)
		var out strings.Builder
		for i := range 60 {
			fmt.Fprintf(&out, "%s%sws-%064d:%%%d:0:::1790000000:claude\n", mark, separator, i, i)
		}
		return out.String(), nil
	}
	b.ReportAllocs()
	for b.Loop() {
		records, err := list(b.Context(), run, []layout{row}, func(f string) []string { format = f; return []string{"list-panes"} })
		if err != nil || len(records) != 60 {
			b.Fatal(len(records), err)
		}
		for _, r := range records {
			if paneID(r.fields[1]) < 0 || activity(r.fields[5]).IsZero() || printable(r.text) != "claude" {
				b.Fatalf("read %q", r)
			}
		}
	}
}
