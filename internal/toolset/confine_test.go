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

// hostile makes a workspace with every way out of it that an agent can lay.
func hostile(t *testing.T, roots ...string) *bed {
	t.Helper()
	b := newBed(t)
	b.load(toolset.Host{}, atlas.Toolset{
		Use: declare(t, `{"toolset":"mine","tools":[
		{"name":"rel","description":"d","input":{"type":"object","properties":{"p":{"type":"string"}},"additionalProperties":false},"args":[{"from":"p","as":"path"}],"output":"text"},
		{"name":"abs","description":"d","input":{"type":"object","properties":{"p":{"type":"string"}},"additionalProperties":false},"args":[{"from":"p","as":"abspath"}],"output":"text"}]}`),
		Command: command(t, "tell", b.told), Roots: roots,
	})
	for name, target := range map[string]string{
		"out": b.outside(), "up": "../other", "missing": filepath.Join(b.outside(), "not-there"), "loop": "loop",
		"chain": "out", "in": "src", "later": "src/later", "procfs": "/proc/self/root" + b.dir + "/src",
	} {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(b.dir, "src"), b.dir + "-twin"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func quote(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

func TestRelativePathsStayInTheWorkspace(t *testing.T) {
	b := hostile(t)
	for text, want := range map[string]string{
		"src": "src", "./src//x/": "src/x", "src/../src/new/file.go": "src/new/file.go", "not/there/yet.go": "not/there/yet.go",
		"in/x": "in/x", "later": "later", "a b\"c": "a b\"c", "./-x": "-x", "é😀": "é😀", b.dir + "/src": "src", ".": ".", "../main/src": "src", "file/below": "file/below",
	} {
		argv, err := b.set.Argv(b.place(), "rel", json.RawMessage(`{"p":`+quote(text)+`}`))
		if err != nil || argv[len(argv)-1] != filepath.Join(b.dir, want) {
			t.Errorf("%q becomes %q, %v; want %s in the workspace", text, argv, err, want)
		}
	}
	for _, text := range []string{
		"..", "../other", "../mai", "src/../../other", "/etc/passwd", b.dir + "-twin", b.dir + "/../other", "out", "out/x", "chain/x",
		"up", "up/new", "missing", "missing/x", "loop", "loop/x", "later/../../../other", b.outside(),
		"procfs", "procfs/x", "/proc/self/root" + b.dir + "/src", // another process's root may have another workspace there
	} {
		b.refused(b.call("rel", `{"p":`+quote(text)+`}`), "leaves the workspace")
	}
	for text, want := range map[string]string{
		"": "empty", "-x": "start with -", "--help": "start with -", "a\x00b": "control", "a\nb": "control",
	} {
		b.refused(b.call("rel", `{"p":`+quote(text)+`}`), want)
	}
}

func TestAbsolutePathsStayInTheWorkspaceAndRootsAndPassUnchanged(t *testing.T) {
	extra, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(extra, link); err != nil {
		t.Fatal(err)
	}
	b := hostile(t, link, "/not/there")
	for _, text := range []string{
		b.dir, b.dir + "/src", b.dir + "//src/./x", b.dir + "/not/there", b.dir + "/in/x y", extra, extra + "/x", link + "/x", b.dir + "/é",
	} {
		argv, err := b.set.Argv(b.place(), "abs", json.RawMessage(`{"p":`+quote(text)+`}`))
		if err != nil || argv[len(argv)-1] != text {
			t.Errorf("%q becomes %q, %v; want it unchanged", text, argv, err)
		}
	}
	for _, text := range []string{
		"/etc/passwd", "/", b.atlas, b.dir + "-twin", b.dir + "/out", b.dir + "/chain/x", b.dir + "/up/x", b.dir + "/missing", b.dir + "/loop",
		filepath.Join(b.atlas, "widgets", "other", "spec.md"), b.outside(), extra + "-twin",
		b.dir + "/procfs", "/proc/self/root" + b.dir + "/src", "/proc/self/root" + extra, "/proc/self/cwd",
	} {
		b.refused(b.call("abs", `{"p":`+quote(text)+`}`), "neither in the workspace nor in a folder")
	}
	for _, text := range []string{"src", "./src", "", "-x", "~/x"} {
		b.refused(b.call("abs", `{"p":`+quote(text)+`}`), "not an absolute path")
	}
	b.refused(b.call("abs", `{"p":`+quote(b.dir+"/src/../src")+`}`), "..")
}

func TestAbsolutePathsHoldNoMisleadingCharacter(t *testing.T) {
	b := hostile(t)
	for name, escape := range map[string]string{
		"Cc line feed": `\n`, "Cc NUL": `\u0000`, "Cc next line": `\u0085`, "Cf override": `\u202e`, "Cf zero width": `\u200d`,
		"Cf tag": `\udb40\udc41`, "Cs lone half": `\ud800`, "Zl": `\u2028`, "Zp": `\u2029`,
	} {
		t.Run(name, func(t *testing.T) {
			b.refused(b.call("abs", `{"p":"$DIR/a`+escape+`b"}`), "characters")
		})
	}
}

func TestARefusalTellsNothingOfWhatLiesOutside(t *testing.T) {
	b := hostile(t)
	there := filepath.Join(b.atlas, "widgets", "other")
	for _, tool := range []string{"rel", "abs"} {
		for _, pair := range [][2]string{{there, there + "-not"}, {there + "/../main", there + "-not/../main"}, {b.dir + "/up/x", b.dir + "/missing/x"}} {
			one, other := b.call(tool, `{"p":`+quote(pair[0])+`}`), b.call(tool, `{"p":`+quote(pair[1])+`}`)
			if strings.Join(one.Text, "") != strings.Join(other.Text, "") {
				t.Errorf("%s: %q and %q are told apart: %q, %q", tool, pair[0], pair[1], one.Text, other.Text)
			}
		}
	}
}

func TestAWorkspaceIsBoundByItsRealPath(t *testing.T) {
	b := hostile(t)
	link := filepath.Join(t.TempDir(), "ws")
	if err := os.Symlink(b.dir, link); err != nil {
		t.Fatal(err)
	}
	argv, err := b.set.Argv(toolset.Place{Dir: link}, "rel", json.RawMessage(`{"p":"src"}`))
	if err != nil || argv[len(argv)-1] != filepath.Join(b.dir, "src") {
		t.Errorf("in a workspace named by a link, src becomes %q, %v", argv, err)
	}
	if got := b.set.Call(t.Context(), toolset.Place{Dir: b.dir + "/gone"}, "rel", nil); !got.IsError || got.Outcome() != "error" {
		t.Errorf("a workspace that is gone gives %+v", got)
	}
}
