package main

import (
	"fmt"
	"io"
	"strings"
)

// markdown writes what README shows: the machine, and of the table what compares or has a target.
func (t *table) markdown(w io.Writer) error {
	lines := []string{
		"Measured on " + t.machine + ". Each ratio is of two programs that ran in turns, round by round.",
		"",
		"| | median | middle half of rounds | target | how it comes about |",
		"|---|---|---|---|---|",
	}
	for _, p := range t.parts {
		lines = append(lines, "| **"+p.title+"** | | | | |")
		for _, r := range p.rows {
			if r.shown() {
				lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s |", r.name, r.figure(r.values.median()), r.span(), r.judged(), r.detail))
			}
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// shown says that the row is one of README's.
func (r row) shown() bool { return r.limit.set || r.unit == "×" }

// judged is the target, with a word where it was not met.
func (r row) judged() string {
	if v := r.verdict(); v != "" && v != "met" {
		return r.limit.String() + ", " + v
	}
	return r.limit.String()
}
