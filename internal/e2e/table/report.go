package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Report is what a whole run of the end-to-end tests saw.
type Report struct {
	suites  []SuiteRow
	clients []ClientRow
	known   limits
}

// Read reads the file that the tests appended to. Rows that say the same are one row.
func Read(r io.Reader) (*Report, error) {
	known, err := parseLimits(knownLimits)
	if err != nil {
		return nil, err
	}
	return read(r, known)
}

func read(r io.Reader, known limits) (*Report, error) {
	report := &Report{known: known}
	for d := json.NewDecoder(r); ; {
		var l line
		switch err := d.Decode(&l); {
		case err == io.EOF:
			return report, nil
		case err != nil:
			return nil, fmt.Errorf("read the rows: %w", err)
		case l.Suite != nil && !slices.Contains(report.suites, *l.Suite):
			report.suites = append(report.suites, *l.Suite)
		case l.Client != nil && !slices.Contains(report.clients, *l.Client):
			report.clients = append(report.clients, *l.Client)
		}
	}
}

// Problems says what the report lacks and what it should not have: rows that are absent and no
// known limit, rows with a fault, known limits that are none. Without any, the run is complete.
func (r *Report) Problems() []string {
	var problems []string
	note := func(p string) {
		if p != "" {
			problems = append(problems, p)
		}
	}
	for _, row := range r.suites {
		note(row.problem())
	}
	for _, row := range r.clients {
		note(row.problem())
	}
	for _, e := range expectedSuites() {
		if len(r.suitesOf(e)) == 0 {
			note(fmt.Sprintf("%s at %s is absent", e.suite, e.revision))
		}
	}
	for _, e := range expectedClients() {
		reason, limited := r.known[e.name()][e.transport]
		switch seen := len(r.clientsOf(e)) > 0; {
		case !seen && !limited:
			note(fmt.Sprintf("%s over %s is absent and no known limit", e.name(), e.transport))
		case seen && limited:
			note(stale(e.name(), e.transport, reason))
		}
	}
	return problems
}

func (r *Report) suitesOf(e expectedSuite) []SuiteRow {
	var rows []SuiteRow
	for _, row := range r.suites {
		if row.Suite == e.suite && row.Revision == e.revision {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *Report) clientsOf(e expectedClient) []ClientRow {
	var rows []ClientRow
	for _, row := range r.clients {
		if got, ok := row.expected(); ok && got == e {
			rows = append(rows, row)
		}
	}
	return rows
}

// Print writes both tables in the order of the expected rows, an absent one with why.
func (r *Report) Print(w io.Writer) error {
	var text bytes.Buffer
	tw := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SUITE\tREVISION\tPASSED\tFAILED\tEXPECTED")
	for _, e := range expectedSuites() {
		rows := r.suitesOf(e)
		if len(rows) == 0 {
			fmt.Fprintf(tw, "%s\t%s\tabsent\t–\t–\n", e.suite, e.revision)
		}
		for _, s := range rows {
			fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\n", s.Suite, s.Revision, s.Passed, s.Failed, s.Expected)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(&text)
	fmt.Fprintln(tw, "CLIENT\tVERSION\tTRANSPORT\tPROTOCOL\tTOOLS\tCALLED")
	for _, e := range expectedClients() {
		r.printClient(tw, e)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

func (r *Report) printClient(w io.Writer, e expectedClient) {
	rows := r.clientsOf(e)
	for _, c := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", c.Client, c.Version, c.Transport, c.Protocol, c.Tools, c.Call)
	}
	if len(rows) > 0 {
		return
	}
	why := "absent"
	if reason, ok := r.known[e.name()][e.transport]; ok {
		why = "known limit: " + reason
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t–\t–\t%s\n", e.client, e.version, e.transport, why)
}
