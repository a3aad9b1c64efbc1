package token_test

import (
	"testing"

	"fleet/internal/token"
)

// BenchmarkLookup is what each request costs before anything else of it is believed: the text is
// read and looked up among those of 200 sessions.
func BenchmarkLookup(b *testing.B) {
	var table token.Table[int]
	var known string
	for i := range 200 {
		tok := token.Mint()
		table.Add(tok, i)
		known = tok.Reveal()
	}
	unknown := token.Mint().Reveal()
	for name, c := range map[string]struct {
		text  string
		opens bool
	}{"known": {known, true}, "unknown": {unknown, false}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tok, err := token.Parse(c.text)
				if err != nil {
					b.Fatal(err)
				}
				if _, ok := table.Lookup(tok); ok != c.opens {
					b.Fatalf("Lookup = %t, want %t", ok, c.opens)
				}
			}
		})
	}
}
