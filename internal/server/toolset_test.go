package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/api"
)

func TestAToolsetsToolsStandBesideTheThirteen(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json", "sealed.json")
	if got, want := w.extra(), []string{"environment", "fail", "gate", "hang", "look", "version"}; !slices.Equal(got, want) {
		t.Fatalf("beside the thirteen: %v, want %v", got, want)
	}
	_, tools, _ := w.listed()
	var look, version struct {
		Title       string
		Annotations json.RawMessage
		Input       json.RawMessage `json:"inputSchema"`
		Output      json.RawMessage `json:"outputSchema"`
	}
	for name, into := range map[string]any{"look": &look, "version": &version} {
		if err := json.Unmarshal(tools[name], into); err != nil {
			t.Fatal(err)
		}
	}
	if want := `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`; string(look.Annotations) != want {
		t.Errorf("annotations %s, want %s", look.Annotations, want)
	}
	if look.Title != "Look" || !strings.Contains(string(look.Input), `"required":["path"]`) || look.Output != nil {
		t.Errorf("look is listed as %s", tools["look"])
	}
	if !strings.Contains(string(version.Output), `"ok"`) {
		t.Errorf("version has no envelope for its output: %s", tools["version"])
	}
	if names, _, _ := open(t).listed(); !slices.Equal(names, thirteen) {
		t.Errorf("without toolsets: %v", names)
	}
}

func TestAToolsetsResultKeepsItsOwnShapeInBothEras(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json", "sealed.json")
	const params = `{"name":"look","arguments":{"path":"a.txt"}}`
	legacy := w.result(w.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
	modern := w.result(w.modern(alpha, "1", "tools/call", params))
	for era, got := range map[string]wholeResult{"legacy": legacy, "modern": modern} {
		want := `{"dir":"` + alpha.Dir(w.atlas) + `","path":"` + filepath.Join(alpha.Dir(w.atlas), "a.txt") + `"}`
		if len(got.Content) != 1 || got.Content[0].Text != want || string(got.StructuredContent) != want || got.IsError {
			t.Errorf("%s: %+v, want %s as text and as structured content", era, got, want)
		}
		if got.Meta["mine/repository-text"] != true || got.Meta["fleet/repository-text"] != nil {
			t.Errorf("%s: _meta %v, want the toolset's mark alone", era, got.Meta)
		}
	}
	if modern.ResultType != "complete" || legacy.ResultType != "" || modern.Meta["io.modelcontextprotocol/serverInfo"] == nil {
		t.Errorf("a modern result is %+v, a legacy one %+v", modern, legacy)
	}
	enclosed := w.result(w.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"version"}}`))
	if len(enclosed.Content) != 2 || !strings.Contains(string(enclosed.StructuredContent), `"ok":true`) || enclosed.Meta != nil {
		t.Errorf("in an envelope: %+v", enclosed)
	}
	if text, isError, err := w.server.Call(t.Context(), alpha, "version", nil); err != nil || isError || !strings.Contains(text, "exit 0\n{") {
		t.Errorf("an operator's call: %q, %v, %v, want both texts", text, isError, err)
	}
}

func TestACommandsFailureIsAResultWithItsReason(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json")
	if got := w.call(alpha, "fail", `{}`); !got.IsError || got.Text != "no such luck" {
		t.Errorf("%+v, want what the command said", got)
	}
}

func TestACommandRunsInTheWorkspaceThatTheTokenOpens(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json")
	if got := w.call(beta, "look", `{"path":"."}`); !strings.Contains(got.Text, `"dir":"`+beta.Dir(w.atlas)+`"`) {
		t.Errorf("beta's call ran in %s", got.Text)
	}
	before := w.read("ran")
	for name, path := range map[string]string{
		"a sibling": filepath.Join(beta.Dir(w.atlas), "x"), "above": "../x", "a way round": "a/../../" + beta.Name, "outside": "/etc/passwd",
	} {
		raw, _ := json.Marshal(path)
		if got := w.call(alpha, "look", `{"path":`+string(raw)+`}`); !got.IsError || strings.Contains(got.Text, "dir") {
			t.Errorf("%s: %+v, want a refusal", name, got)
		}
	}
	// The agent may do what it likes with its own folder.
	if err := os.RemoveAll(alpha.Dir(w.atlas)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(beta.Name, alpha.Dir(w.atlas)); err != nil {
		t.Fatal(err)
	}
	if got := w.call(alpha, "look", `{"path":"."}`); !got.IsError {
		t.Errorf("with a link to its sibling in its place: %+v, want a refusal", got)
	}
	if after := w.read("ran"); after != before {
		t.Errorf("refused calls started processes: %q", strings.TrimPrefix(after, before))
	}
}

func TestACommandSeesNoneOfTheShipsSecrets(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json")
	t.Setenv("FLEET_AGENT_MCP_TOKEN", "a secret")
	for line := range strings.Lines(w.call(alpha, "environment", `{}`).Text) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"HOME", "LANG", "PATH", "PWD", "OLDPWD", "SHLVL", "_"}, name) {
			t.Errorf("the command got %q", line)
		}
	}
}

func TestACallOfAToolsetIsOneEventWithoutItsArguments(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json")
	w.call(alpha, "agent_init", `{"model":"m","provider":"p","harness":"h"}`)
	w.call(alpha, "look", `{"path":"hush.txt","session":"s-1"}`)
	w.call(alpha, "look", `{"path":"../hush.txt","session":"s-2"}`)
	w.call(alpha, "look", `{"path":"hush.txt","session":"--hush"}`)
	w.call(alpha, "look", `{"paths":"hush.txt"}`)
	w.call(alpha, "fail", `{}`)
	type told struct{ tool, session, outcome string }
	var got []told
	for _, e := range w.calls()[1:] {
		got = append(got, told{e.Tool, e.Session, e.Outcome})
		if raw, _ := json.Marshal(e); e.Stage != "mcp" || e.Bytes == 0 || e.Workspace != alpha.Name || strings.Contains(string(raw), "hush") {
			t.Errorf("event %s", raw)
		}
	}
	want := []told{{"look", "s-1", "ok"}, {"look", "s-2", "refused"}, {"look", "", "refused"}, {"look", "", "refused"}, {"fail", "", "error"}}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestABrokenToolsetKeepsNothingElseFromBeingServed(t *testing.T) {
	t.Parallel()
	w := openWorkshop(t)
	w.write("version", "0.9")
	w.load("mine.json", "none.json", "sealed.json")
	if got, want := w.states(), []string{api.ToolsetServed, api.ToolsetBroken, api.ToolsetBroken}; !slices.Equal(got, want) {
		t.Fatalf("states %v, want %v", got, want)
	}
	if slices.Contains(w.extra(), "version") || !slices.Contains(w.extra(), "look") {
		t.Errorf("beside the thirteen: %v", w.extra())
	}
	ready := w.do(w.request("GET", "/readyz", nil))
	if ready.status != 503 || !strings.Contains(ready.body, `"toolset `+w.home+`/none.json"`) || !strings.Contains(ready.body, "0.9") && !strings.Contains(ready.body, "1.0") {
		t.Errorf("/readyz: %d %s, want 503 and both", ready.status, ready.body)
	}
	told := w.server.Toolsets()[2]
	if told.Name != "sealed" || !slices.Equal(told.Tools, []string{"version"}) || !strings.Contains(told.Problem, "contract") {
		t.Errorf("told %+v", told)
	}

	w.write("version", "1.0")
	w.write("none.json", strings.NewReplacer(`"mine"`, `"none"`, `"name": "`, `"name": "n_`).Replace(mine))
	w.load("mine.json", "none.json", "sealed.json")
	if !slices.Contains(w.extra(), "version") || !slices.Contains(w.extra(), "n_look") {
		t.Errorf("mended: %v, %+v", w.extra(), w.server.Toolsets())
	}
	eventually(t, "/readyz is 200", func() bool { return w.do(w.request("GET", "/readyz", nil)).status == 200 })
}

func TestAToolsetThatBreaksLaterIsNoLongerServed(t *testing.T) {
	w := openWorkshop(t)
	w.load("sealed.json")
	w.write("version", "0.9")
	w.load("sealed.json")
	if extra := w.extra(); len(extra) > 0 {
		t.Errorf("still served: %v", extra)
	}
	if id, code, _ := failure(t, w.post(alpha, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"version"}}`)); id != "5" || code != codeInvalidParams {
		t.Errorf("a call: %d, want that there is no such tool", code)
	}
}

func TestASlowContractCheckKeepsNobodyWaiting(t *testing.T) {
	w := openWorkshop(t)
	w.server.toolsets.patience = 10 * time.Millisecond
	w.write("hang", "")
	w.load("mine.json", "sealed.json")
	eventually(t, "one is served, the other one checked", func() bool {
		return slices.Equal(w.states(), []string{api.ToolsetServed, api.ToolsetChecking})
	})
	if extra := w.extra(); slices.Contains(extra, "version") || !slices.Contains(extra, "look") {
		t.Errorf("beside the thirteen: %v", extra)
	}
	if err := os.Remove(filepath.Join(w.home, "hang")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the check holds and both are served", func() bool { return slices.Contains(w.extra(), "version") && slices.Contains(w.extra(), "look") })
}

func TestALoadEndsTheChecksOfTheOneBefore(t *testing.T) {
	w := openWorkshop(t)
	w.server.toolsets.patience = 10 * time.Millisecond
	w.write("hang", "")
	w.load("sealed.json")
	eventually(t, "the check runs", func() bool { return w.read("pids") != "" })
	w.load("mine.json")
	w.gone("pids")
}

func TestACallEndsWithTheToolsetThatItBeganWith(t *testing.T) {
	w := openWorkshop(t)
	w.load("mine.json")
	ended := w.later("gate")
	eventually(t, "the call runs", func() bool { return strings.Contains(w.read("ran"), "gate") })
	w.load()
	if extra := w.extra(); len(extra) > 0 {
		t.Errorf("after the load: %v", extra)
	}
	w.write("open", "")
	if got := <-ended; got.IsError || strings.TrimSpace(got.Text) != "through" {
		t.Errorf("%+v, want its end", got)
	}
}

func TestNamesThatClashAreErrors(t *testing.T) {
	w := openWorkshop(t)
	w.write("ours.json", strings.NewReplacer(`"mine"`, `"ours"`, `"name": "look"`, `"name": "agent_init"`).Replace(mine))
	w.write("again.json", strings.ReplaceAll(mine, `"mine"`, `"again"`))
	w.load("ours.json", "mine.json", "again.json")
	if got, want := w.states(), []string{api.ToolsetBroken, api.ToolsetServed, api.ToolsetBroken}; !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	all := w.server.Toolsets()
	if !strings.Contains(all[0].Problem, "the tool agent_init belongs to the ship") || !strings.Contains(all[2].Problem, "the tool look belongs to "+w.home+"/mine.json") {
		t.Errorf("problems %q and %q", all[0].Problem, all[2].Problem)
	}
	if got := w.call(alpha, "agent_init", `{"model":"m","provider":"p","harness":"h"}`); got.IsError {
		t.Errorf("our own tool: %+v", got)
	}
}

func TestAHangingCommandIsKilledAndSaysSo(t *testing.T) {
	t.Parallel()
	w := openWorkshop(t)
	w.server.toolTimeout = 300 * time.Millisecond
	w.load("mine.json")
	if got := w.call(alpha, "hang", `{}`); !got.IsError || !strings.Contains(got.Text, "killed") {
		t.Errorf("%+v, want that it was killed", got)
	}
	w.gone("pids")
}

func TestNoMoreThanFourRunAtOnceInAWorkspaceWhateverTheirToolset(t *testing.T) {
	w := openWorkshop(t)
	w.server.toolTimeout = 20 * time.Second
	w.write("more.json", strings.NewReplacer(`"mine"`, `"more"`, `"name": "`, `"name": "m_`).Replace(mine))
	w.load("mine.json", "more.json")
	within := func() int { in, _ := filepath.Glob(filepath.Join(w.home, "in-*")); return len(in) }
	var ended []<-chan called
	for i := range 6 {
		ended = append(ended, w.later([]string{"gate", "m_gate"}[i%2]))
	}
	eventually(t, "four run", func() bool { return within() == 4 })
	if got := w.call(beta, "look", `{"path":"."}`); got.IsError {
		t.Errorf("a neighbour's call: %+v", got)
	}
	if n := within(); n != 4 {
		t.Errorf("%d run at once, want 4", n)
	}
	w.write("open", "")
	for _, one := range ended {
		if got := <-one; got.IsError || got.Text == "" {
			t.Errorf("%+v", got)
		}
	}
}
