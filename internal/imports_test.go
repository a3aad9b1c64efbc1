package internal_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module    = "fleet/"
	mcpServer = "github.com/mark3labs/mcp-go/server"
)

// source is one file that is compiled into a program.
type source struct {
	path    string // from the module's root, with slashes
	imports []string
}

func (s source) folder() string { return filepath.ToSlash(filepath.Dir(s.path)) }

// allowed says which of our packages each one may import. A folder without a line of its own has
// the line of the nearest one above it, and may import within that.
func allowed() map[string][]string {
	provider := []string{"api", "internal/bridge"}
	return map[string][]string{
		"api":                    {},
		"internal/atlas":         {},
		"internal/token":         {},
		"internal/tmux":          {},
		"internal/build":         {},
		"internal/harness":       {},
		"internal/agent":         {"api", "internal/atlas"},
		"internal/workspace":     {"api", "internal/atlas", "internal/token", "internal/agent", "internal/tmux"},
		"internal/toolset":       {"api", "internal/atlas"},
		"internal/server":        {"api", "internal/atlas", "internal/token", "internal/workspace", "internal/agent", "internal/toolset"},
		"internal/adapter":       {"internal/atlas", "internal/token", "internal/tmux"},
		"internal/bridge":        {"api"},
		"internal/bridge/github": provider,
		"internal/bridge/gitlab": provider,
		"internal/bridge/gitea":  provider,
		// The suite holds every provider to the same claims, and its stand-in forges are nobody's.
		"internal/bridge/bridgetest": provider,
		"cmd/agent-mcp":              {"internal/adapter", "internal/build"},
		"cmd/ship": {
			"api", "internal/atlas", "internal/token", "internal/tmux", "internal/agent", "internal/workspace",
			"internal/build", "internal/harness", "internal/toolset", "internal/server", "internal/bridge", "internal/bridge/github",
			"internal/bridge/gitlab", "internal/bridge/gitea",
		},
	}
}

// outside says that folder is of no program of ours: it tries or measures them, and may see all.
func outside(folder string) bool {
	for _, top := range []string{"internal/e2e", "internal/bench"} {
		if folder == top || strings.HasPrefix(folder, top+"/") {
			return true
		}
	}
	return false
}

// rule gives the line of the table that counts for folder, or "".
func rule(table map[string][]string, folder string) string {
	for f := folder; f != "."; f = filepath.ToSlash(filepath.Dir(f)) {
		if _, ok := table[f]; ok {
			return f
		}
	}
	return ""
}

// offences holds files to the table, and gives one line for each that does not keep it.
func offences(files []source) []string {
	var found []string
	table := allowed()
	var doors []string
	for _, f := range files {
		if outside(f.folder()) {
			continue
		}
		own := rule(table, f.folder())
		if own == "" {
			found = append(found, f.path+": no line of the table says what this folder may import")
			continue
		}
		for _, imported := range f.imports {
			if imported == mcpServer {
				doors = append(doors, f.path)
			}
			ours, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			if target := rule(table, ours); target != own && !slices.Contains(table[own], target) {
				found = append(found, fmt.Sprintf("%s imports %s; %s may import %q of ours", f.path, ours, own, table[own]))
			}
		}
	}
	if len(doors) > 1 || len(doors) == 1 && !strings.HasPrefix(doors[0], "internal/server/") {
		found = append(found, fmt.Sprintf("%q import mcp-go's server package; one file of internal/server may", doors))
	}
	return append(found, meetings(files)...)
}

// meetings names the folders, apart from cmd/ship, from which both the ship's half and the
// bridge's can be reached.
func meetings(files []source) []string {
	edges := map[string]map[string]bool{}
	table := allowed()
	for _, f := range files {
		for _, imported := range f.imports {
			if ours, ok := strings.CutPrefix(imported, module); ok {
				if edges[f.folder()] == nil {
					edges[f.folder()] = map[string]bool{}
				}
				edges[f.folder()][ours] = true
			}
		}
	}
	var found []string
	for _, folder := range slices.Sorted(maps.Keys(edges)) {
		if folder == "cmd/ship" || outside(folder) {
			continue
		}
		reached := map[string]bool{}
		reach(edges, folder, reached)
		halves := map[string]bool{}
		for f := range reached {
			halves[rule(table, f)] = true
		}
		if halves["internal/server"] && halves["internal/bridge"] {
			found = append(found, folder+" sees both halves, internal/server and internal/bridge; only cmd/ship may")
		}
	}
	return found
}

func reach(edges map[string]map[string]bool, folder string, reached map[string]bool) {
	if reached[folder] {
		return
	}
	reached[folder] = true
	for next := range edges[folder] {
		reach(edges, next, reached)
	}
}

// sources reads the imports of every Go file below root that is no test, whatever its build tags.
func sources(root string) ([]source, error) {
	var files []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := path != root && strings.HasPrefix(d.Name(), ".")
			if hidden || d.Name() == "node_modules" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file := source{path: filepath.ToSlash(rel)}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			file.imports = append(file.imports, name)
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

func TestPackagesImportOnlyWhatTheLayoutAllows(t *testing.T) {
	files, err := sources("..")
	if err != nil {
		t.Fatal(err)
	}
	// A walk that finds nothing would find nothing wrong either.
	for _, folder := range []string{"api", "internal/atlas", "internal/agent", "internal/token"} {
		if !slices.ContainsFunc(files, func(f source) bool { return f.folder() == folder }) {
			t.Errorf("sources(..) found no file of %s", folder)
		}
	}
	for _, o := range offences(files) {
		t.Error(o)
	}
}

func TestTheLayoutsRulesBite(t *testing.T) {
	cases := map[string][]source{
		"api imports one of ours":            {{"api/x.go", []string{"fleet/internal/atlas"}}},
		"atlas imports api":                  {{"internal/atlas/x.go", []string{"fleet/api"}}},
		"tmux imports token":                 {{"internal/tmux/x.go", []string{"fleet/internal/token"}}},
		"server imports bridge":              {{"internal/server/x.go", []string{"fleet/internal/bridge"}}},
		"server imports a provider":          {{"internal/server/x.go", []string{"fleet/internal/bridge/github"}}},
		"server imports tmux":                {{"internal/server/x.go", []string{"fleet/internal/tmux"}}},
		"bridge imports a provider":          {{"internal/bridge/x.go", []string{"fleet/internal/bridge/github"}}},
		"a provider imports another":         {{"internal/bridge/gitlab/x.go", []string{"fleet/internal/bridge/github"}}},
		"workspace imports server":           {{"internal/workspace/x.go", []string{"fleet/internal/server"}}},
		"adapter imports agent":              {{"internal/adapter/x.go", []string{"fleet/internal/agent"}}},
		"adapter's sub-package imports api":  {{"internal/adapter/sub/x.go", []string{"fleet/api"}}},
		"a folder that the table lacks":      {{"internal/util/x.go", nil}},
		"two files import mcp-go's server":   {{"internal/server/x.go", []string{mcpServer}}, {"internal/server/y.go", []string{mcpServer}}},
		"mcp-go's server outside ours":       {{"internal/workspace/x.go", []string{mcpServer}}},
		"another main imports both halves":   {{"cmd/agent-mcp/x.go", []string{"fleet/internal/server", "fleet/internal/bridge"}}},
		"a part of each half":                {{"cmd/agent-mcp/x.go", []string{"fleet/internal/server/x", "fleet/internal/bridge/x"}}},
		"both halves meet one package lower": {{"internal/bridge/x.go", []string{"fleet/internal/toolset"}}, {"internal/toolset/x.go", []string{"fleet/internal/server"}}},
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			if len(offences(files)) == 0 {
				t.Errorf("offences(%v) found nothing", files)
			}
		})
	}
	good := []source{
		{"cmd/ship/main.go", []string{"fmt", "fleet/internal/server", "fleet/internal/bridge"}},
		{"internal/server/mcp.go", []string{mcpServer, "fleet/api", "fleet/internal/workspace"}},
		{"internal/bridge/github/x.go", []string{"fleet/api", "fleet/internal/bridge", "fleet/internal/bridge/transport"}},
		{"internal/e2e/bench/x.go", []string{mcpServer, "fleet/internal/server", "fleet/internal/bridge"}},
	}
	if found := offences(good); len(found) > 0 {
		t.Errorf("offences of a good layout = %q, want none", found)
	}
}
