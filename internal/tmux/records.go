package tmux

import (
	"context"
	"crypto/rand"
	"strings"
	"unicode"
	"unicode/utf8"
)

// record is what tmux printed for one of the things that it was asked to list: fields that tmux
// itself makes, and at their end text that may be anybody's.
type record struct {
	fields []string
	text   string
}

// separator stands between a record's fields: a session's name, an id and a number never hold it.
const separator = ":"

// layout is the format of one record. At most one field, the last, may hold text of programs that
// run in panes: what a program calls itself, where it stands, what it wrote into its session.
type layout struct {
	fields []string
	text   string // empty: none
}

// list runs a command that prints formats, and gives the records in order. Each begins with a
// word that was minted for this one call: text in a record can hold newlines, and with them
// whole lines that look like another's.
func list(ctx context.Context, run func(context.Context, string, ...string) (string, error), layouts []layout, args func(format string) []string) ([]record, error) {
	mark := rand.Text() + separator
	var format []string
	for _, l := range layouts {
		format = append(format, mark+strings.Join(append(l.fields[:len(l.fields):len(l.fields)], l.text), separator))
	}
	out, err := run(ctx, "", args(strings.Join(format, "\n"))...)
	if err != nil {
		return nil, err
	}
	n := len(layouts[0].fields)
	var records []record
	for _, printed := range strings.Split("\n"+strings.TrimSuffix(out, "\n"), "\n"+mark)[1:] {
		if f := strings.SplitN(printed, separator, n+1); len(f) == n+1 {
			records = append(records, record{f[:n], f[n]})
		}
	}
	return records, nil
}

// maxTextBytes bounds what a program calls itself; its kernel bounds it to far more.
const maxTextBytes = 200

// printable drops what could move a terminal's cursor or turn its text around, and cuts what is
// left to maxTextBytes.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	for len(s) > maxTextBytes {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
