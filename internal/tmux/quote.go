package tmux

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrUnfit is what a value gets that no way of quoting carries through tmux byte for byte.
var ErrUnfit = errors.New("a value for tmux holds a NUL byte or is not valid UTF-8")

// checkValue refuses what tmux cuts (NUL) or refuses without a word (bad UTF-8).
func checkValue(s string) error {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return ErrUnfit
	}
	return nil
}

// quote writes s so that tmux's parser reads s back, on one line. Within single quotes nothing
// is special, but a newline makes the parser skip the blanks behind it, so that one goes in as
// an escape between double quotes.
func quote(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "\n", `'"\n"'`).Replace(s) + "'"
}

// words quotes a command and its arguments.
func words(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

// line joins commands so that the first one that fails is the last one that runs: commands on
// lines of their own go on after a failure, and would then meet another session.
func line(commands ...string) string { return strings.Join(commands, " ; ") + "\n" }

// exactly is a target that matches this session and no other that starts alike.
func exactly(session string) string { return "=" + session + ":" }
