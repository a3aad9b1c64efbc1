package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"fleet/api"
)

// clean removes what could drive a terminal or reorder its text, so that a description, a path
// or a branch shows as what it is. Newlines go too: a line stays a line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
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

// isTerminal says that w shows to a person.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour wraps s in an ANSI colour where a person looks on and NO_COLOR is not set.
func colour(w io.Writer, code, s string) string {
	if code == "" || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(w) {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func stateColour(s api.State) string {
	switch s {
	case api.Awaiting:
		return "1;33"
	case api.Building, api.Verifying, api.Planning:
		return "32"
	}
	return ""
}

func deref(s *string, none string) string {
	if s == nil || *s == "" {
		return none
	}
	return *s
}
