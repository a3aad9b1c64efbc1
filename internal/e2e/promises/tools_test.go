package promises_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// annotations are the four hints: read-only, destructive, idempotent, open world.
type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
}

// String is one letter a hint, "-" where it is false and "?" where it is missing.
func (a annotations) String() string {
	text := ""
	for i, hint := range []*bool{a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld} {
		switch {
		case hint == nil:
			text += "?"
		case *hint:
			text += "RDIO"[i : i+1]
		default:
			text += "-"
		}
	}
	return text
}

// designed are the thirteen tools and which of their hints are fixed; "." is free, yet set.
func designed() map[string]string {
	return map[string]string{
		"agent_init": "--I-", "agent_status": "--I-", "agent_status_get": "R..-",
		"repo_info": "R..-", "repo_issue_list": "R..-", "repo_issue_view": "R..-", "repo_pr_list": "R..-",
		"repo_pr_view": "R..-", "repo_checks": "R..-", "repo_failed_logs": "R..-",
		"repo_issue_comment": "--.O", "repo_pr_comment": "--.O", "repo_pr_review": "--.O",
	}
}

func TestAHarnessSeesTheThirteenToolsAsDesigned(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := startAdapter(t, f.path("one"), f.paneEnv(t, "one"))
	if m := a.open(t); !strings.Contains(string(m.Result), `"name":"fleet-agent"`) {
		t.Errorf("initialize = %s, want serverInfo.name fleet-agent", m.raw)
	}
	m := a.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var list struct {
		Tools []struct {
			Name        string
			Description string
			Annotations annotations
			InputSchema struct {
				Type                 string
				AdditionalProperties *bool
				Properties           map[string]json.RawMessage
			}
		}
		NextCursor string
	}
	if err := json.Unmarshal(m.Result, &list); err != nil || list.NextCursor != "" {
		t.Fatalf("tools/list = %s: %v", m.raw, err)
	}
	want := designed()
	for _, tool := range list.Tools {
		hints, known := want[tool.Name]
		delete(want, tool.Name)
		got := tool.Annotations.String()
		same := known && !strings.Contains(got, "?")
		for i := range hints {
			same = same && (hints[i] == '.' || hints[i] == got[i])
		}
		if !same {
			t.Errorf("%s has the hints %s, want %q", tool.Name, got, hints)
		}
		schema := tool.InputSchema
		if tool.Description == "" || schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s has description %q and schema %+v, want a description and a closed object", tool.Name, tool.Description, schema)
		}
		for _, selector := range []string{"repo", "workspace", "name"} {
			if schema.Properties[selector] != nil {
				t.Errorf("%s takes %s", tool.Name, selector)
			}
		}
	}
	if len(want) > 0 || len(list.Tools) != 13 {
		t.Errorf("tools/list has %d tools and lacks %v", len(list.Tools), want)
	}
	if size := len(m.Result); size >= 8192 {
		t.Errorf("the tools take %d bytes, want fewer than 8192", size)
	}
	for _, forbidden := range []string{"outputSchema", "structuredContent"} {
		if strings.Contains(m.raw, forbidden) {
			t.Errorf("tools/list has %s", forbidden)
		}
	}
}

func TestToolsTakeNoOtherArguments(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one", "two")
	a := f.harness(t, "one")
	a.register(t, "as it was")
	before := a.call(t, "agent_status_get", "{}").ok(t)
	good := map[string]string{
		"agent_init": `"model":"m2","provider":"p","harness":"h"`, "agent_status": `"state":"idle","description":"d"`, "agent_status_get": "",
		"repo_info": "", "repo_issue_list": "", "repo_issue_view": `"number":1`, "repo_issue_comment": `"number":1,"body":"b"`,
		"repo_pr_list": "", "repo_pr_view": `"number":1`, "repo_pr_comment": `"number":1,"body":"b"`,
		"repo_pr_review": `"number":1,"event":"COMMENT"`, "repo_checks": "", "repo_failed_logs": "",
	}
	for name := range designed() {
		for _, extra := range []string{`"repo":"r"`, `"workspace":"two"`, `"name":"two"`, `"anything":1`, `"__proto__":{}`} {
			arguments := "{" + strings.TrimPrefix(good[name]+","+extra, ",") + "}"
			r := a.call(t, name, arguments).tool(t)
			key := strings.Split(extra, `"`)[1]
			if !r.isError || !strings.Contains(r.text, key) || strings.Contains(r.text, "no bridge") {
				t.Errorf("%s %s = %+v, want a refusal that names %s", name, arguments, r, key)
			}
		}
	}
	if got := a.call(t, "agent_status_get", "{}").ok(t); got != before {
		t.Errorf("after refused calls agent_status_get = %s, want %s", got, before)
	}
	if two := f.workspaces(t)["two"]; two.Agent != nil {
		t.Errorf("the sibling has the agent %+v", two.Agent)
	}
}

func TestResultsAreOneTextItemOfIndentedJSON(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	results := []string{
		a.call(t, "agent_init", `{"model":"m","provider":"p","harness":"h"}`).ok(t),
		a.call(t, "agent_status", `{"state":"awaiting","description":"a <b> & é?"}`).ok(t),
		a.call(t, "agent_status_get", `{}`).ok(t),
	}
	for i, text := range results {
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil || !strings.HasPrefix(text, "{\n  \"repo\": \"r\",\n  \"workspace\": \"one\",\n  \"session_id\": ") {
			t.Errorf("result %d = %q, %v, want indented JSON", i, text, err)
		}
		if strings.HasPrefix(text, "{\n") && len(v) != 10 {
			t.Errorf("result %d has the fields %v, want ten", i, v)
		}
	}
	if first := statusOf(t, results[0]); first.State != "idle" || first.Description != "" {
		t.Errorf("agent_init = %s, want state idle and an empty description", results[0])
	}
	if results[1] != results[2] || !strings.Contains(results[2], `"a <b> & é?"`) {
		t.Errorf("agent_status = %s and agent_status_get = %s, want the same, as it was written", results[1], results[2])
	}
	r := a.call(t, "repo_info", "{}").tool(t)
	if !r.isError || !strings.HasPrefix(r.text, "unsupported: ") || !strings.Contains(r.text, "\nNext: ") {
		t.Errorf("repo_info of a repository without a forge = %+v, want isError, unsupported and a next step", r)
	}
}

func TestAStatusBeforeInitFailsAndSaysSo(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	if r := a.call(t, "agent_status", `{"state":"idle","description":"d"}`).tool(t); !r.isError || !strings.Contains(r.text, "agent_init") {
		t.Errorf("agent_status before agent_init = %+v, want isError and agent_init in it", r)
	}
	if got := a.call(t, "agent_status_get", "{}").ok(t); got != "null" {
		t.Errorf("agent_status_get = %s, want null", got)
	}
}

func TestABadStatusIsRefusedInWordsAndChangesNothing(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	a := f.harness(t, "one")
	a.register(t, "as it was")
	before := a.call(t, "agent_status_get", "{}").ok(t)
	long := strings.Repeat("é", 1001)
	cases := map[string][2]string{
		"a state that is none":     {"agent_status", `{"state":"sleeping","description":"d"}`},
		"a state in capitals":      {"agent_status", `{"state":"IDLE","description":"d"}`},
		"no state":                 {"agent_status", `{"description":"d"}`},
		"a state of null":          {"agent_status", `{"state":null,"description":"d"}`},
		"a state of another type":  {"agent_status", `{"state":1,"description":"d"}`},
		"no description":           {"agent_status", `{"state":"idle"}`},
		"an empty description":     {"agent_status", `{"state":"idle","description":""}`},
		"a blank description":      {"agent_status", `{"state":"idle","description":" \t "}`},
		"a long description":       {"agent_status", `{"state":"idle","description":"` + long + `"}`},
		"a control character":      {"agent_status", `{"state":"idle","description":"a\u001b[31mb"}`},
		"a description of a list":  {"agent_status", `{"state":"idle","description":["d"]}`},
		"an empty model":           {"agent_init", `{"model":"","provider":"p","harness":"h"}`},
		"a long model":             {"agent_init", `{"model":"` + strings.Repeat("m", 257) + `","provider":"p","harness":"h"}`},
		"no harness":               {"agent_init", `{"model":"m","provider":"p"}`},
		"a model of another type":  {"agent_init", `{"model":{"a":1},"provider":"p","harness":"h"}`},
		"a NUL in the provider":    {"agent_init", `{"model":"m","provider":"p\u0000","harness":"h"}`},
		"an argument where no one": {"agent_status_get", `{"x":1}`},
	}
	for what, c := range cases {
		r := a.call(t, c[0], c[1]).tool(t)
		dumps := func(s string) bool { return strings.Contains(r.text, s) }
		if !r.isError || len(r.text) < 20 || len(r.text) > 1000 || slices.ContainsFunc([]string{"map[", "json:", "struct", "interface", "%!", "0x", "Go "}, dumps) {
			t.Errorf("%s: %s %.80s = %+v, want isError and a sentence", what, c[0], c[1], r)
		}
	}
	for _, arguments := range []string{`[]`, `"x"`, `7`, `null`} {
		m := a.call(t, "agent_status", arguments)
		if m.Error == nil && !m.tool(t).isError {
			t.Errorf("agent_status with arguments %s = %s, want a failure", arguments, m.raw)
		}
	}
	if got := a.call(t, "agent_status_get", "{}").ok(t); got != before {
		t.Errorf("after refused calls agent_status_get = %s, want %s", got, before)
	}
	for _, state := range []string{"idle", "planning", "building", "verifying", "awaiting"} {
		text := a.call(t, "agent_status", fmt.Sprintf(`{"state":%q,"description":%q}`, state, long[:2000])).ok(t)
		if got := statusOf(t, text); string(got.State) != state || got.Description != long[:2000] || got.Model != "m" {
			t.Errorf("agent_status %s = %+v, want a thousand characters and the model kept", state, got)
		}
	}
	if got := statusOf(t, a.call(t, "agent_status", `{"state":"idle","description":"  trimmed\t"}`).ok(t)); got.Description != "trimmed" {
		t.Errorf("a description with blanks around it became %q", got.Description)
	}
}
