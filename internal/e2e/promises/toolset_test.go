package promises_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// readmeBlock gives README's one code block that holds text.
func readmeBlock(t *testing.T, text string) string {
	t.Helper()
	raw, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$").FindAllStringSubmatch(string(raw), -1) {
		if strings.Contains(m[1], text) {
			found = append(found, m[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("README has %d code blocks with %q, want one", len(found), text)
	}
	return found[0]
}

// place writes a file of the operator's, outside the atlas.
func (f *fleet) place(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// declare names toolsets in atlas.json.
func (f *fleet) declare(t *testing.T, sets ...atlas.Toolset) {
	t.Helper()
	if err := atlas.Edit(f.root, func(file *atlas.File) error { file.Toolsets = sets; return nil }); err != nil {
		t.Fatal(err)
	}
}

// tools lists what a harness is offered.
func (a *adapter) tools(t *testing.T) []string {
	t.Helper()
	m := a.ask(t, `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(m.Result, &list); err != nil {
		t.Fatalf("tools/list = %s: %v", m.raw, err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// statuses is ship status --json, and what it said on stderr.
func (f *fleet) statuses(t *testing.T) (sets []api.Toolset, stderr string) {
	t.Helper()
	r := f.ship(t, "status", "--json")
	var shown struct {
		Workspaces []api.Workspace
		Toolsets   []api.Toolset
	}
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil || r.code != 0 || shown.Workspaces == nil || shown.Toolsets == nil {
		t.Fatalf("ship status --json = %d %s: %v", r.code, r.stdout, err)
	}
	return shown.Toolsets, r.stderr
}

func TestREADMEsToolsetIsServedToEachWorkspaceInItsOwnFiles(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	file := f.place(t, "search.json", readmeBlock(t, `"toolset": "search"`), 0o600)
	if said := f.must(t, "toolset", "check", file); !strings.Contains(said, "grep -rnI '--max-count=20' -- ") && !strings.Contains(said, "grep -rnI --max-count=20 -- ") {
		t.Errorf("ship toolset check says %s, want grep's arguments", said)
	}
	f.declare(t, atlas.Toolset{Use: file})
	f.serve(t)
	f.activate(t, "one", "two")
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(f.path(name), "note.txt"), []byte("seen by "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := f.harness(t, "one")
	if names := one.tools(t); len(names) != 14 || !slices.Contains(names, "search_text") {
		t.Fatalf("tools %v, want the thirteen and search_text", names)
	}
	m := one.call(t, "search_text", `{"pattern":"seen by","paths":["."]}`)
	if text := m.ok(t); !strings.Contains(text, "seen by one") || strings.Contains(text, "two") || !strings.Contains(m.raw, `"search/repository-text":true`) {
		t.Errorf("search_text = %s, want one's line, marked", m.raw)
	}
	for _, arguments := range []string{
		`{"pattern":"seen","paths":["../two/note.txt"]}`, `{"pattern":"seen","paths":["` + f.path("two") + `/note.txt"]}`,
		`{"pattern":"--file=/etc/passwd","paths":["."]}`, `{"pattern":"seen","paths":["-f/etc/passwd"]}`, `{"pattern":"seen","paths":["."],"workspace":"two"}`,
	} {
		if r := one.call(t, "search_text", arguments).tool(t); !r.isError || strings.Contains(r.text, "seen by two") {
			t.Errorf("search_text %s = %+v, want a refusal", arguments, r)
		}
	}
	if said := f.must(t, "call", "r/two", "search_text", `{"pattern":"seen by","paths":["note.txt"]}`); !strings.Contains(said, "seen by two") {
		t.Errorf("ship call says %q", said)
	}
	if said := f.must(t, "__complete", "call", "r/one", "search"); !strings.Contains(said, "search_text\n") {
		t.Errorf("completion proposes %q", said)
	}
	calls := f.must(t, "events", "--calls", "--json")
	if strings.Count(calls, `"search_text"`) != 7 || strings.Contains(calls, "seen by") || strings.Count(calls, `"refused"`) != 5 {
		t.Errorf("events %s, want seven calls without arguments, five of them refused", calls)
	}
}

func TestARepositoryDeclaresNoTools(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	inside := filepath.Join(f.path("one"), "search.json")
	f.declare(t, atlas.Toolset{Use: inside}) // a mistake of the operator's, too
	f.serve(t)
	f.activate(t, "one")
	declaration := readmeBlock(t, `"toolset": "search"`)
	for _, name := range []string{"search.json", "toolset.json", ".fleet/search.json", ".ship/search.json"} {
		path := filepath.Join(f.path("one"), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(declaration), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listing := `{"fleet":1,"port":1,"repos":{},"toolsets":[{"use":"` + inside + `"},{"use":"builtin:fairlead","command":["/bin/true"]}]}`
	if err := os.WriteFile(filepath.Join(f.path("one"), "atlas.json"), []byte(listing), 0o600); err != nil {
		t.Fatal(err)
	}
	f.must(t, "repo", "add", "again", f.origin) // the ship reads its atlas again
	if names := f.harness(t, "one").tools(t); len(names) != 13 {
		t.Errorf("tools %v, want the thirteen", names)
	}
	if _, said := f.statuses(t); !strings.Contains(said, "lies in the atlas") {
		t.Errorf("ship status says %q", said)
	}
}

// checker is a stand-in for Suspec's: its contract is of the version in the file beside it.
const checker = `#!/bin/sh
home=$(dirname "$0")
case "$*" in
'check --contract --json') printf '{"version":"%s","checks":[CHECKS]}\n' "$(cat "$home/version")" ;;
'check '*) printf '{"type":"spec","level":"clean","path":"%s","diagnostics":[]}\n' "$2"; env >"$home/env" ;;
*) exit 9 ;;
esac
`

// placeChecker writes the stand-in; the checks are those that Suspec's contract 0.27.0 lists.
func (f *fleet) placeChecker(t *testing.T) string {
	t.Helper()
	var checks []string
	for _, line := range strings.Fields("C001/unique-ids C002/duplicate-id C003/verify-with C004/one-strength-word C007/no-tbd-at-ready C008/sources-named " +
		"C009/broken-source-link C010/preserves-refs-resolve C011/waves-present C015/citation-resolves C019/malformed-requirement-heading C021/intent-present " +
		"C022/task-shape C023/task-evidence C024/closed-task-resolved C025/spec-shape C028/requirement-shape C029/campaign-shape C030/campaign-authority C031/campaign-ready") {
		id, name, _ := strings.Cut(line, "/")
		severity := "hard-error"
		if slices.Contains([]string{"C008", "C011", "C015", "C019"}, id) {
			severity = "warning"
		}
		checks = append(checks, fmt.Sprintf(`{"id":%q,"name":%q,"severity":%q}`, id, name, severity))
	}
	f.place(t, "version", "0.27.0", 0o600)
	return f.place(t, "checker", strings.ReplaceAll(checker, "CHECKS", strings.Join(checks, ",")), 0o700)
}

// SUSPEC_BIN must outlive the ship's second start, which sheds forge tokens; neither may reach the command.
func TestSuspecIsTheOneThatSUSPECBINNamedAtTheShipsStart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "GITHUB_TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB")
	f.env = append(f.env, "SUSPEC_BIN="+f.placeChecker(t))
	f.declare(t, atlas.Toolset{Use: "builtin:suspec"})
	f.serve(t)
	f.activate(t, "one", "two")
	a := f.harness(t, "one")
	spec := filepath.Join(f.path("one"), "spec.md")
	m := a.call(t, "suspec_check", `{"paths":["`+spec+`"]}`)
	var r struct {
		IsError           bool
		StructuredContent struct {
			OK     bool
			Source struct {
				Command  string
				ExitCode int
			}
			Data []struct{ Level, Path string }
		}
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || r.IsError || !r.StructuredContent.OK || len(r.StructuredContent.Data) != 1 || r.StructuredContent.Data[0].Path != spec {
		t.Errorf("suspec_check = %s", m.raw)
	}
	if m := a.call(t, "suspec_check", `{"paths":["`+filepath.Join(f.path("two"), "spec.md")+`"]}`); !strings.Contains(m.raw, `"isError":true`) {
		t.Errorf("a sibling's artifact: %s, want a refusal", m.raw)
	}
	raw, err := os.ReadFile(filepath.Join(f.dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"FLEET_", "ghp_", "GITHUB_TOKEN", "SUSPEC_BIN"} {
		if strings.Contains(string(raw), hidden) {
			t.Errorf("the command's environment has %s: %s", hidden, raw)
		}
	}
	for era, line := range map[string]string{
		"legacy": `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"suspec://checks"}}`,
		"modern": `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"suspec://checks","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		if m := a.ask(t, line); !strings.Contains(string(m.Result), `0.27.0`) || !strings.Contains(string(m.Result), "campaign-ready") {
			t.Errorf("%s: resources/read = %s", era, m.raw)
		}
	}
}

func TestAContractThatIsMendedIsServedAfterAHangup(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	program := f.placeChecker(t)
	f.place(t, "version", "0.26.0", 0o600)
	f.declare(t, atlas.Toolset{Use: "builtin:suspec", Command: []string{program}})
	f.serve(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	a.register(t, "as it was")
	if names := a.tools(t); len(names) != 13 {
		t.Errorf("tools %v, want the thirteen alone", names)
	}
	if m := a.ask(t, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("resources/list = %s, want an unknown method", m.raw)
	}
	sets, said := f.statuses(t)
	if len(sets) != 1 || sets[0].Name != "suspec" || sets[0].State != api.ToolsetBroken || !strings.Contains(sets[0].Problem, "0.27.0") || len(sets[0].Tools) != 2 {
		t.Errorf("ship status --json has %+v", sets)
	}
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, "builtin:suspec") || !strings.Contains(said, "SIGHUP") {
		t.Errorf("ship status says %q on stderr, want one line", said)
	}
	ready := func() reply { return f.http(t, ask{method: "GET", path: "/readyz"}) }
	if r := ready(); r.status != 503 || !strings.Contains(r.body, "toolset builtin:suspec") {
		t.Errorf("/readyz = %d %s, want 503 that names it", r.status, r.body)
	}

	f.place(t, "version", "0.27.0", 0o600)
	f.daemon.Signal(t, syscall.SIGHUP)
	if !shipyard.Poll(func() bool { return slices.Contains(a.tools(t), "suspec_check") }) {
		t.Fatal("after SIGHUP suspec is not served")
	}
	if m := a.ask(t, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`); !strings.Contains(string(m.Result), "suspec://checks") {
		t.Errorf("resources/list = %s", m.raw)
	}
	if !shipyard.Poll(func() bool { return ready().status == 200 }) {
		t.Errorf("/readyz = %+v", ready())
	}
	if sets, said := f.statuses(t); sets[0].State != api.ToolsetServed || said != "" {
		t.Errorf("ship status --json has %+v and says %q", sets, said)
	}
	if got := a.call(t, "agent_status_get", "{}").ok(t); !strings.Contains(got, "as it was") {
		t.Errorf("the session's agent is now %s", got)
	}
}

func TestREADMEsSandboxShowsACommandItsOwnWorkspaceAlone(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed (Debian's package bubblewrap)")
	}
	f := newFleet(t)
	prefix := f.place(t, "in-workspace", readmeBlock(t, "exec bwrap"), 0o700)
	probe := exec.Command(prefix, "true")
	probe.Dir = f.dir
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("bubblewrap does not work here: %v: %s", err, out)
	}
	// A command that looks past its arguments, as one would whose file became a link after the check.
	nosy := f.place(t, "nosy.json", `{"toolset":"nosy","tools":[{"name":"nosy","description":"d","output":"text","args":[],
		"input":{"type":"object","additionalProperties":false}}]}`, 0o600)
	look := `cat README; ls -d "` + f.path("two") + `" "` + f.dir + `/search.json"; touch README 2>/dev/null && echo written; exit 0`
	f.declare(t, atlas.Toolset{Use: nosy, Command: []string{prefix, "/bin/sh", "-c", look}})
	f.serve(t)
	f.activate(t, "one", "two")
	if got := f.harness(t, "one").call(t, "nosy", "{}").ok(t); got != "hello\n" {
		t.Errorf("in the sandbox the command saw %q, want its own README alone", got)
	}
}
