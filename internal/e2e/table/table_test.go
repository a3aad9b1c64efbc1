package table

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// watched is a test that another one watches.
type watched struct {
	testing.TB
	failures []string
}

func (w *watched) Helper()                   {}
func (w *watched) Failed() bool              { return len(w.failures) > 0 }
func (w *watched) Error(args ...any)         { w.failures = append(w.failures, args[0].(string)) }
func (w *watched) Errorf(f string, _ ...any) { w.failures = append(w.failures, f) }

func goodClient(e expectedClient) ClientRow {
	version := e.version
	if version == "" {
		version = "1.0"
	}
	return ClientRow{e.client, version, e.transport, "2025-11-25", tools, "agent_init"}
}

// fill appends every expected row but those that skip names.
func fill(t *testing.T, skip ...string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rows")
	t.Setenv(Variable, name)
	for _, e := range expectedSuites() {
		if !slices.Contains(skip, e.suite+" "+e.revision) {
			Suite(t, SuiteRow{e.suite, e.revision, 7, 2, 2})
		}
	}
	for _, e := range expectedClients() {
		_, limited := Limit(e.name(), e.transport)
		if !limited && !slices.Contains(skip, e.name()+" "+e.transport) {
			Client(t, goodClient(e))
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestACompleteRunHasNoProblem(t *testing.T) {
	report, err := Read(fill(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Problems(); len(got) > 0 {
		t.Errorf("a complete run has the problems %q", got)
	}
}

func TestARowThatIsAbsentIsAProblemUnlessItIsAKnownLimit(t *testing.T) {
	known := limits{ClaudeCode + " 2.1.197": {HTTP: "it is old"}}
	skip := []string{"conformance 2025-11-25", "Claude Code 2.1.197 http", "Codex stdio"}
	report, err := read(fill(t, skip...), known)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"conformance at 2025-11-25 is absent", "Codex over stdio is absent and no known limit"}
	if got := report.Problems(); !slices.Equal(got, want) {
		t.Errorf("Problems() = %q, want %q", got, want)
	}
	var text bytes.Buffer
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "known limit: it is old") || strings.Count(text.String(), "absent") != 2 {
		t.Errorf("the tables do not show the two absent rows and the limit:\n%s", &text)
	}
}

func TestAKnownLimitOfAClientThatWorksIsStale(t *testing.T) {
	report, err := read(fill(t), limits{Codex: {HTTP: "never"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Problems(); len(got) != 1 || !strings.Contains(got[0], "stale") {
		t.Errorf("Problems() = %q, want one about a stale limit", got)
	}
}

func TestAClientThatWorksDespiteAKnownLimitFailsItsTest(t *testing.T) {
	known := limits{ClaudeCode + " 2.1.197": {HTTP: "it is old"}}
	for version, fails := range map[string]bool{"2.1.197": true, "2.1.332": false} {
		w := &watched{TB: t}
		client(w, ClientRow{ClaudeCode, version, HTTP, "2025-11-25", tools, "agent_init"}, known)
		if w.Failed() != fails {
			t.Errorf("Claude Code %s, with a limit of 2.1.197: failures %q, want some: %t", version, w.failures, fails)
		}
	}
}

func TestTheKnownLimitsNameRowsOfTheTable(t *testing.T) {
	if _, err := parseLimits(knownLimits); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"another client":    "Nobody: {http: why}",
		"another transport": "Codex: {pigeon: why}",
		"no reason":         "Codex: {http: ''}",
		"a list":            "- Codex",
	} {
		if got, err := parseLimits([]byte(text)); err == nil {
			t.Errorf("%s: parseLimits(%q) = %v, want an error", name, text, got)
		}
	}
}

func TestARowWithAFaultFailsItsTest(t *testing.T) {
	good := ClientRow{Codex, "1.0", Stdio, "2025-06-18", tools, "agent_init"}
	with := func(change func(*ClientRow)) ClientRow {
		row := good
		change(&row)
		return row
	}
	for name, c := range map[string]struct {
		row  ClientRow
		kept bool
	}{
		"good":            {good, true},
		"no such client":  {with(func(r *ClientRow) { r.Client = "codex" }), false},
		"no such version": {with(func(r *ClientRow) { r.Client = ClaudeCode }), false},
		"a tool too few":  {with(func(r *ClientRow) { r.Tools-- }), false},
		"no call":         {with(func(r *ClientRow) { r.Call = "" }), false},
		"no protocol":     {with(func(r *ClientRow) { r.Protocol = "" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rows")
			t.Setenv(Variable, file)
			w := &watched{TB: t}
			Client(w, c.row)
			_, err := os.Stat(file)
			if kept := err == nil; kept != c.kept || w.Failed() == c.kept {
				t.Errorf("Client(%+v): kept: %t, failures: %q; want kept: %t", c.row, kept, w.failures, c.kept)
			}
		})
	}
}

func TestARowOfAFailedTestIsNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows")
	t.Setenv(Variable, file)
	Client(&watched{TB: t, failures: []string{"earlier"}}, ClientRow{Codex, "1.0", Stdio, "2025-06-18", tools, "agent_init"})
	if _, err := os.Stat(file); err == nil {
		t.Error("the row of a test that had failed was kept")
	}
}

func TestAnUnexpectedFailureOfASuiteFailsItsTestAndTheReport(t *testing.T) {
	for name, c := range map[string]struct {
		row SuiteRow
		bad bool
	}{
		"as expected":       {SuiteRow{Conformance, "2025-11-25", 20, 3, 3}, false},
		"one more":          {SuiteRow{Conformance, "2025-11-25", 20, 4, 3}, true},
		"one less":          {SuiteRow{Conformance, "2025-11-25", 20, 2, 3}, true},
		"nothing ran":       {SuiteRow{Conformance, "2025-11-25", 0, 0, 0}, true},
		"no such suite":     {SuiteRow{"other", "2025-11-25", 20, 0, 0}, true},
		"no such revision":  {SuiteRow{Conformance, "2024-11-05", 20, 0, 0}, true},
		"the other's suite": {SuiteRow{ConformanceFixtures, "2026-07-28", 20, 0, 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := fill(t, c.row.Suite+" "+c.row.Revision)
			w := &watched{TB: t}
			Suite(w, c.row)
			report, err := Read(f)
			if err != nil {
				t.Fatal(err)
			}
			if problems := report.Problems(); w.Failed() != c.bad || (len(problems) > 0) != c.bad {
				t.Errorf("Suite(%+v): failures %q, problems %q; want some: %t", c.row, w.failures, problems, c.bad)
			}
		})
	}
}

func TestNothingIsKeptWithoutTheVariableNorUnderARelativeName(t *testing.T) {
	row := SuiteRow{Conformance, "2025-11-25", 20, 0, 0}
	t.Setenv(Variable, "")
	Suite(t, row)
	t.Setenv(Variable, "rows")
	w := &watched{TB: t}
	Suite(w, row)
	if !w.Failed() {
		t.Errorf("a relative name in %s was taken", Variable)
	}
}
