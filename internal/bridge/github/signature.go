package github

import (
	"regexp"
	"strings"
)

// changing is what differs between two logs of one failure: numbers, hashes, times.
var changing = regexp.MustCompile(`(?i)\b[0-9a-f]{7,}\b|[0-9]+`)

// signature is what two excerpts of the same failure have in common: the lines around their first
// and last errors, or their last lines, without what differs from job to job.
func (x *excerpt) signature(jobName string) string {
	var b strings.Builder
	own := matrixValues(jobName)
	for _, l := range x.candidates() {
		near := x.first == 0 && x.count-l.n < 10
		for _, at := range []int{x.first, x.last} {
			near = near || at > 0 && l.n >= at-8 && l.n <= at+2
		}
		if !near {
			continue
		}
		words := readable(l.text, x.mask)
		for _, v := range own {
			words = strings.ReplaceAll(words, v, "*")
		}
		b.WriteString(changing.ReplaceAllString(words, "#") + "\n")
	}
	return b.String()
}

// matrixValues are the words in a matrix job's name: "test (ubuntu-latest, 1.25)".
func matrixValues(name string) []string {
	_, in, ok := strings.Cut(name, "(")
	if !ok {
		return nil
	}
	var values []string
	for v := range strings.SplitSeq(strings.TrimSuffix(in, ")"), ",") {
		if v = strings.TrimSpace(v); len(v) > 1 {
			values = append(values, v)
		}
	}
	return values
}
