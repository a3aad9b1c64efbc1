package promises_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository's, from this package's folder.
const root = "../../.."

// tests are those of the whole repository, as folder.TestName; folders below internal go without it.
type tests map[string]bool

// has knows "cmd/ship.TestScripts/life" too: a script that the test runs.
func (r tests) has(name string) bool {
	name, script, scripted := strings.Cut(name, ".TestScripts/")
	if !scripted {
		return r[name]
	}
	_, err := os.Stat(filepath.Join(root, name, "testdata", "script", script+".txtar"))
	return err == nil && r[name+".TestScripts"]
}

func fields(names string) []string { return strings.Fields(names) }

// repositoryTests reads every test file, whatever its build tags.
func repositoryTests(t *testing.T) tests {
	t.Helper()
	found := tests{}
	for _, top := range []string{"api", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata"):
				return fs.SkipDir
			case strings.HasSuffix(path, "_test.go"):
				return found.read(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 500 {
		t.Fatalf("only %d tests found in the repository; the test's eyes are bad", len(found))
	}
	return found
}

func (r tests) read(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	folder = strings.TrimPrefix(filepath.ToSlash(folder), "internal/")
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			r[folder+"."+f.Name.Name] = true
		}
	}
	return nil
}

// section is README's of that title.
func section(t *testing.T, title string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(raw), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("README has no section %q", title)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

func TestEachPromiseOfREADMEIsHeldByATest(t *testing.T) {
	known := repositoryTests(t)
	named := regexp.MustCompile("`([a-z0-9/]+\\.Test\\w+)`")
	promises := 0
	for line := range strings.Lines(section(t, "What Fleet promises")) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		promises++
		found := named.FindAllStringSubmatch(line, -1)
		if len(found) == 0 {
			t.Errorf("README promises, and names no test: %s", line)
		}
		for _, m := range found {
			if !known.has(m[1]) {
				t.Errorf("README names %s, which is no test: %s", m[1], line)
			}
		}
	}
	if promises < 25 {
		t.Errorf("README has %d promises; the test's eyes are bad", promises)
	}
}

// What a process of one's own user can read, no token keeps from it.
func TestREADMESaysWhereOneUsersProcessesAreNotIsolated(t *testing.T) {
	text := section(t, "What it holds against, and what not")
	for _, want := range []string{"One user id is one trust domain", "tokens attribute; they don't isolate"} {
		if !strings.Contains(text, want) {
			t.Errorf("README does not say %q", want)
		}
	}
}
