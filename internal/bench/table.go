package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// limit is what a value must not pass. The zero limit asks for nothing: the row informs.
type limit struct {
	bound   float64
	atLeast bool // false: at most
	set     bool
}

func atMost(bound float64) limit  { return limit{bound: bound, set: true} }
func atLeast(bound float64) limit { return limit{bound: bound, atLeast: true, set: true} }

// met is false for NaN, that is, for what could not be measured.
func (l limit) met(value float64) bool {
	if l.atLeast {
		return value >= l.bound
	}
	return value <= l.bound
}

func (l limit) String() string {
	switch {
	case !l.set:
		return ""
	case l.atLeast:
		return fmt.Sprintf("≥ %g", l.bound)
	}
	return fmt.Sprintf("≤ %g", l.bound)
}

// row is one line of the table: the median of values, one a round, beside its limit.
type row struct {
	name   string
	unit   string // "×" for a ratio
	values series
	limit  limit
	detail string // the absolute figures behind it, which mean little on another machine
}

func (r row) verdict() string {
	switch {
	case !r.limit.set:
		return ""
	case len(r.values) == 0:
		return "not measured"
	case r.limit.met(r.values.median()):
		return "met"
	}
	return "NOT MET"
}

// table gathers what the parts measured, by part.
type table struct {
	machine string // what it was measured on
	parts   []part
}

type part struct {
	title string
	rows  []row
}

func (t *table) add(title string, rows ...row) { t.parts = append(t.parts, part{title, rows}) }

// missed counts the limits that were not met, or not measured.
func (t *table) missed() int {
	n := 0
	for _, p := range t.parts {
		for _, r := range p.rows {
			if v := r.verdict(); v != "" && v != "met" {
				n++
			}
		}
	}
	return n
}

// print writes the table. The rounds' range is what the middle half of them spans.
func (t *table) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", t.machine)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join([]string{"", "median", "middle half of rounds", "target", "", "how it comes about"}, "\t"))
	for _, p := range t.parts {
		fmt.Fprintln(tw, p.title+"\t\t\t\t\t")
		for _, r := range p.rows {
			fmt.Fprintln(tw, strings.Join([]string{
				"  " + r.name, r.figure(r.values.median()), r.span(), r.limit.String(), r.verdict(), r.detail,
			}, "\t"))
		}
	}
	return tw.Flush()
}

func (r row) span() string {
	if len(r.values) < 2 {
		return ""
	}
	return r.figure(r.values.quantile(0.25)) + " … " + r.figure(r.values.quantile(0.75))
}

func (r row) figure(v float64) string {
	if len(r.values) == 0 {
		return "–"
	}
	digits := 2
	if v >= 100 {
		digits = 0
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", digits, v, r.unit))
}
