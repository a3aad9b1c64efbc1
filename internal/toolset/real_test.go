package toolset_test

import (
	"os"
	"path/filepath"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// realChecker serves the Suspec checker that SUSPEC_BIN names, by Node where it is a script.
func realChecker(t *testing.T) *bed {
	t.Helper()
	program := os.Getenv("SUSPEC_BIN")
	if program == "" {
		t.Skip("SUSPEC_BIN names no Suspec checker (contract 0.27.0), and none is in any package registry")
	}
	var command []string
	if ext := filepath.Ext(program); ext == ".js" || ext == ".mjs" {
		command = []string{"node", program}
	}
	b := newBed(t)
	return b.load(toolset.Host{Getenv: os.LookupEnv}, atlas.Toolset{Use: "builtin:suspec", Command: command})
}

func TestTheRealCheckerIsServed(t *testing.T) {
	b := realChecker(t)
	if err := b.set.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	document, err := b.set.ReadResource(t.Context(), b.place(), "suspec://checks")
	if err != nil || !sameJSON(t, document.Text, contract("0.27.0", checks())) {
		t.Errorf("ReadResource = %s, %v", document.Text, err)
	}
}

func TestTheRealCheckerSaysWhatWasRecorded(t *testing.T) {
	b := realChecker(t)
	b.artifacts()
	wanted := readings()
	for name, r := range recordings(t) {
		if r.Tool != "suspec_check" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.reads(r, wanted[name])
		})
	}
}

func TestTheRealCheckerReportsOnceForOneFile(t *testing.T) {
	b := realChecker(t)
	b.artifacts()
	if err := os.Symlink("one/spec.md", filepath.Join(b.dir, "alias.md")); err != nil {
		t.Fatal(err)
	}
	e := open(t, b.call("suspec_check", `{"paths":["$DIR/one/spec.md","$DIR/alias.md","$DIR/audit.md"]}`))
	if got := read(t, e); got != "spec clean; audit unchecked" {
		t.Errorf("a file and a link to it: %s", got)
	}
}
