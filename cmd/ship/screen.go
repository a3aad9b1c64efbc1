package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is the door through which everything that ship prints goes: nothing that came out of a
// repository, a forge, a session or an argument can drive a terminal behind it. It is the last
// line; what makes one line of a text that may hold several is clean.
type screen struct {
	w io.Writer
	// json says that a JSON value is printed. Characters that no person can see are then
	// escaped, so that the value stays whole; nil: text is printed, which loses them.
	json *bool
	// exact lets through to a file or a program what only a person's eyes must be kept from: a
	// diff that patch shall take is no other's without it.
	exact bool
}

// The sequences that ship itself writes to a terminal.
const (
	clearLine   = "\r\x1b[K"
	clearScreen = "\x1b[H\x1b[2J"

	needsYou  = "\x1b[1;33m"
	working   = "\x1b[32m"
	broken    = "\x1b[31m"
	colourEnd = "\x1b[0m"
)

// Write lets p through as far as it is harmless. It counts what it took, not what it let through.
func (s *screen) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.w, s.harmless(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *screen) harmless(text string) string {
	terminal := isTerminal(s)
	hides := terminal || !s.exact
	asJSON := s.json != nil && *s.json
	var out strings.Builder
	out.Grow(len(text))
	for text != "" {
		if code := ownColour(text); code != "" && terminal {
			out.WriteString(code)
			text = text[len(code):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == '\n', r == '\t', r == '\r' && strings.HasPrefix(text, "\n"):
			out.WriteRune(r)
		case asJSON && invisible(r):
			escapeJSON(&out, r)
		case hides && invisible(r), unicode.IsControl(r):
			// left out
		default:
			out.WriteRune(r) // U+FFFD in place of a byte that is no UTF-8
		}
	}
	return out.String()
}

// escapeJSON writes r as a JSON string spells it. Outside its strings JSON has no such characters.
func escapeJSON(out *strings.Builder, r rune) {
	for _, unit := range utf16.AppendRune(nil, r) {
		fmt.Fprintf(out, `\u%04x`, unit)
	}
}

func ownColour(text string) string {
	if text[0] != '\x1b' {
		return ""
	}
	for _, code := range []string{needsYou, working, broken, colourEnd} {
		if strings.HasPrefix(text, code) {
			return code
		}
	}
	return ""
}

// drive writes one of ship's own sequences, and text behind it that is free of others'.
func drive(w io.Writer, sequence, text string) error {
	if s, ok := w.(*screen); ok {
		if _, err := io.WriteString(s.w, sequence); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// terminalOf gives the file behind w where it shows to a person, else nil.
func terminalOf(w io.Writer) *os.File {
	if s, ok := w.(*screen); ok {
		w = s.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// isTerminal says that w shows to a person.
func isTerminal(w io.Writer) bool { return terminalOf(w) != nil }

// colour wraps s in one of ship's colours where a person looks on and NO_COLOR is not set.
func colour(w io.Writer, code, s string) string {
	if code == "" || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(w) {
		return s
	}
	return code + s + colourEnd
}
