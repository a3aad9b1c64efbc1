package tmux_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNobodyElseRunsTmux reads the whole repository: outside this package no part of ship or
// agent-mcp names tmux as something to execute, and in it one function executes it. Tests and
// the benchmark, and what is there for the end-to-end tests alone, also play the operator, who has a tmux of his own.
func TestNobodyElseRunsTmux(t *testing.T) {
	t.Parallel()
	files, executions := 0, 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || e.Name() == "testdata" || e.Name() == "bench" || e.Name() == "e2e") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		n, named := uses(t, path)
		if filepath.Dir(path) == filepath.Join("..", "..", "internal", "tmux") {
			executions += n
		} else if named {
			t.Errorf("%s names tmux as a program", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// process_other.go runs ps, where there is no /proc.
	if files < 20 || executions != 2 {
		t.Errorf("%d files with %d calls that execute a program in this package, want one for tmux and one for ps", files, executions)
	}
}

// uses counts a file's calls of os/exec, and says whether a text in it is a path to tmux.
func uses(t *testing.T, path string) (executions int, named bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "exec" && strings.HasPrefix(n.Sel.Name, "Command") {
				executions++
			}
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				named = named || filepath.Base(s) == "tmux" && !strings.Contains(s, " ")
			}
		}
		return true
	})
	return executions, named
}
