// Package table keeps what the end-to-end tests saw of programs that nobody here wrote: one row
// for each suite and revision, and one for each client, version and transport. The tests of
// several packages append to one file, and the command print reads it. The package knows which
// rows there have to be, so that a test that was skipped or renamed is missed.
package table

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Variable names the file that rows are appended to, as an absolute path: each package's tests
// run in a directory of their own. Unset, nothing is kept.
const Variable = "FLEET_E2E_TABLE"

// SuiteRow is what one suite found at one revision of the protocol.
type SuiteRow struct {
	Suite    string `json:"suite"` // one of the Suite constants
	Revision string `json:"revision"`
	Passed   int    `json:"passed"`   // checks
	Failed   int    `json:"failed"`   // checks, those of Expected among them
	Expected int    `json:"expected"` // those of Failed that the expected-failures file names
}

// ClientRow is what one client did over one transport: it connected, listed the tools and called
// at least one of them.
type ClientRow struct {
	Client    string `json:"client"` // one of the client constants; a mode of it is part of the name
	Version   string `json:"version"`
	Transport string `json:"transport"` // Stdio or HTTP
	Protocol  string `json:"protocol"`  // the revision that was spoken, as seen on the wire or told by the client
	Tools     int    `json:"tools"`     // how many were listed
	Call      string `json:"call"`      // the tools that were called with success
}

// line is one line of the file: a row of either kind.
type line struct {
	Suite  *SuiteRow  `json:"suite,omitempty"`
	Client *ClientRow `json:"client,omitempty"`
}

// Suite keeps row, and fails t when the row is no row of the table or has an unexpected failure.
// It is kept then too: the table shows what failed.
func Suite(t testing.TB, row SuiteRow) {
	t.Helper()
	if problem := row.problem(); problem != "" {
		t.Error(problem)
	}
	keep(t, line{Suite: &row})
}

// Client keeps row unless t has failed: call it last. It fails t when the row is no row of the
// table, lacks something, or works although known-limits.yaml says that it can't.
func Client(t testing.TB, row ClientRow) {
	t.Helper()
	known, err := parseLimits(knownLimits)
	if err != nil {
		t.Error(err.Error())
	}
	client(t, row, known)
}

func client(t testing.TB, row ClientRow, known limits) {
	t.Helper()
	if problem := row.problem(); problem != "" {
		t.Error(problem)
	}
	if reason, ok := known[row.name()][row.Transport]; ok {
		t.Error(stale(row.name(), row.Transport, reason))
	}
	if !t.Failed() {
		keep(t, line{Client: &row})
	}
}

// keep appends in one write, which other processes' lines can't get into.
func keep(t testing.TB, l line) {
	t.Helper()
	name := os.Getenv(Variable)
	if name == "" {
		return
	}
	if err := appendLine(name, l); err != nil {
		t.Errorf("keep a row of the table: %v", err)
	}
}

func appendLine(name string, l line) error {
	if !filepath.IsAbs(name) {
		return fmt.Errorf("%s is %q, which is not an absolute path", Variable, name)
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		_ = f.Close()
		return fmt.Errorf("append to %s: %w", name, err)
	}
	return f.Close()
}
