package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"fleet/api"
)

// clean removes what could drive a terminal or reorder its text, so that a description, a path
// or a branch shows as what it is. Newlines go too: a line stays a line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
}

// invisible says that a person does not see r, or sees other characters elsewhere for it:
// controls, the marks that turn text around, blanks without width, fillers and line separators.
func invisible(r rune) bool {
	if r <= unicode.MaxASCII {
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// cleanText is clean for text of several lines.
func cleanText(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = clean(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// age says how long ago t was, in one unit.
func age(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

func stateColour(s api.State) string {
	switch s {
	case api.Awaiting:
		return needsYou
	case api.Building, api.Verifying, api.Planning:
		return working
	}
	return ""
}

func deref(s *string, none string) string {
	if s == nil || *s == "" {
		return none
	}
	return *s
}
