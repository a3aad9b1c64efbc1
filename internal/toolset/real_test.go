package toolset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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

// artifact writes a file of one frontmatter type into the workspace.
func (b *bed) artifact(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

const goodSpec = `---
type: spec
id: SPEC-one
status: draft
sources:
  - JIRA-1
---

# One

## Intent

Say something.

## Non-goals

- Nothing else.

## Requirements

### AC-001

- When: it is asked
- Then: it MUST answer
- Verify with: a test

## Open questions

None.
`

func TestTheRealCheckerIsServed(t *testing.T) {
	b := realChecker(t)
	if err := b.set.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, text, err := b.set.ReadResource(t.Context(), b.place(), "suspec://checks")
	if err != nil || !strings.Contains(text, `"version": "0.27.0"`) {
		t.Errorf("ReadResource = %s, %v", text, err)
	}
}

func TestTheRealCheckerKeepsItsContract(t *testing.T) {
	b := realChecker(t)
	good := b.artifact("good.md", goodSpec)
	twin := b.artifact("twin.md", goodSpec)
	bare := b.artifact("bare.md", strings.Replace(goodSpec, "sources:\n  - JIRA-1\n", "", 1))
	weak := b.artifact("weak.md", strings.Replace(goodSpec, "MUST answer", "answers", 1))
	audit := b.artifact("audit.md", "---\ntype: audit\nid: AUDIT-one\n---\n\n# Audit\n")
	poem := b.artifact("poem.md", "---\ntype: poem\nid: POEM-one\n---\n\n# Poem\n")
	for name, c := range map[string]struct {
		paths   []string
		ok      bool
		exit    int
		reports int
	}{
		"clean":               {[]string{good}, true, 0, 1},
		"unchecked":           {[]string{audit}, true, 0, 1},
		"no sources":          {[]string{bare}, true, 1, 1},
		"no strength word":    {[]string{weak}, true, 2, 1},
		"two of one id":       {[]string{good, twin}, true, 2, 3},
		"in order":            {[]string{audit, good}, true, 0, 2},
		"same path twice":     {[]string{good, good}, true, 0, 1},
		"unknown type":        {[]string{poem}, false, 2, 1},
		"missing":             {[]string{filepath.Join(b.dir, "none.md")}, false, 2, 1},
		"a spec with another": {[]string{good, audit, bare}, true, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			args, _ := json.Marshal(map[string]any{"paths": c.paths, "responseFormat": "detailed"})
			e := open(t, b.call("suspec_check", string(args)))
			var data []json.RawMessage
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			if *e.OK != c.ok || *e.Source.ExitCode != c.exit || len(data) != c.reports {
				t.Errorf("ok %v, exit %d, data %s; want ok %v, exit %d and %d values", *e.OK, *e.Source.ExitCode, e.Data, c.ok, c.exit, c.reports)
			}
		})
	}
	missing, _ := json.Marshal(map[string]any{"paths": []string{filepath.Join(b.dir, "x.md"), filepath.Join(b.dir, "y.md")}})
	failed(t, b.call("suspec_check", string(missing)), "not one of the contract's")
}
