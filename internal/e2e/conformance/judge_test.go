//go:build e2e

package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// verdict is what came of one run of the suite.
type verdict struct {
	passed, failed, expected int // checks; the expected are among the failed
	problems                 []string
}

// judge holds what was found to the scenarios that there have to be and to the failures that are
// excused. It finds fault with a scenario without a single check, with one that nobody named, with
// a failure that is not excused, and with an excuse for what did not fail.
func judge(found map[string][]check, scenarios, excuses []string) verdict {
	var v verdict
	problem := func(format string, args ...any) { v.problems = append(v.problems, fmt.Sprintf(format, args...)) }
	used := map[string]bool{}
	for _, scenario := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(scenarios, scenario) {
			problem("the scenario %s ran and is in no list", scenario)
		}
		for _, c := range found[scenario] {
			one := scenario + ":" + c.ID
			switch {
			case c.Status == "SUCCESS":
				v.passed++
			case !c.failed():
			case slices.Contains(excuses, scenario), slices.Contains(excuses, one):
				used[scenario], used[one] = true, true
				v.failed, v.expected = v.failed+1, v.expected+1
			default:
				v.failed++
				problem("%s: %s %s", one, c.Status, c.Message)
			}
		}
	}
	for _, scenario := range scenarios {
		if len(found[scenario]) == 0 {
			problem("the scenario %s was not run", scenario)
		}
	}
	for _, excuse := range excuses {
		if !used[excuse] {
			problem("%s is excused and did not fail", excuse)
		}
	}
	return v
}

func TestTheVerdictMissesNothing(t *testing.T) {
	good, bad, warned := check{ID: "a", Status: "SUCCESS"}, check{ID: "b", Status: "FAILURE"}, check{ID: "c", Status: "WARNING"}
	skipped := check{ID: "d", Status: "SKIPPED"}
	for name, c := range map[string]struct {
		found   []check // of the scenario s
		excuses []string
		want    verdict
		problem string // in the only one
	}{
		"all passed":                {found: []check{good, good, skipped}, want: verdict{passed: 2}},
		"a failure":                 {found: []check{good, bad}, want: verdict{passed: 1, failed: 1}, problem: "s:b: FAILURE"},
		"a warning":                 {found: []check{warned}, want: verdict{failed: 1}, problem: "s:c: WARNING"},
		"an excused check":          {found: []check{good, bad}, excuses: []string{"s:b"}, want: verdict{passed: 1, failed: 1, expected: 1}},
		"an excused scenario":       {found: []check{bad, warned}, excuses: []string{"s"}, want: verdict{failed: 2, expected: 2}},
		"another check excused":     {found: []check{bad, warned}, excuses: []string{"s:b"}, want: verdict{failed: 2, expected: 1}, problem: "s:c: WARNING"},
		"an excuse that is stale":   {found: []check{good}, excuses: []string{"s:a"}, want: verdict{passed: 1}, problem: "s:a is excused and did not fail"},
		"a scenario that is stale":  {found: []check{good}, excuses: []string{"s"}, want: verdict{passed: 1}, problem: "s is excused and did not fail"},
		"an excuse for what is not": {found: []check{good}, excuses: []string{"x"}, want: verdict{passed: 1}, problem: "x is excused and did not fail"},
		"no check at all":           {found: []check{}, problem: "the scenario s was not run"},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(map[string][]check{"s": c.found}, []string{"s"}, c.excuses)
			if got.passed != c.want.passed || got.failed != c.want.failed || got.expected != c.want.expected {
				t.Errorf("judge = %+v, want %+v", got, c.want)
			}
			if want := min(1, len(c.problem)); len(got.problems) != want || !strings.Contains(strings.Join(got.problems, ""), c.problem) {
				t.Errorf("problems %q, want %q", got.problems, c.problem)
			}
		})
	}
	got := judge(map[string][]check{"s": {good}, "more": {good}}, []string{"s", "less"}, nil)
	if want := []string{"the scenario more ran and is in no list", "the scenario less was not run"}; !slices.Equal(got.problems, want) {
		t.Errorf("problems %q, want %q", got.problems, want)
	}
}
