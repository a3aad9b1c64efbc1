package toolset_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fleet/internal/toolset"
)

func TestFairleadsNineToolsRunTheirCommands(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	cases := map[string]struct{ tool, args, want string }{
		"plan":             {"plan", `{}`, "plan --json"},
		"plan, all":        {"plan", `{"base":"origin/main~2","files":["a.go","dir/b"],"session":"s1"}`, "plan --json --base origin/main~2 --files $DIR/a.go $DIR/dir/b"},
		"plan, no files":   {"plan", `{"files":[]}`, "plan --json"},
		"explain a path":   {"explain", `{"target":"tests/a_test.go","base":"v1.2@{1}"}`, ""},
		"explain a file":   {"explain", `{"target":"tests/a_test.go","base":"main","session":"s1"}`, "test --explain $DIR/tests/a_test.go --base main"},
		"explain a check":  {"explain", `{"target":"lint"}`, "test --explain lint"},
		"brief":            {"brief", `{"paths":["new/file.go"]}`, "brief --json -- $DIR/new/file.go"},
		"brief, all":       {"brief", `{"paths":["b","a"],"base":"main","session":"s-1"}`, "brief --json --base main --session s-1 -- $DIR/b $DIR/a"},
		"context":          {"context", `{"paths":["a"],"base":"main","session":"s1"}`, "context --json --base main --session s1 -- $DIR/a"},
		"find":             {"find", `{"query":"two words"}`, "find --json -- two words"},
		"find, all":        {"find", `{"query":"q","limit":50,"session":"s1"}`, "find --json --limit 50 --session s1 -- q"},
		"receipt":          {"receipt", `{"base":"main","session":"s1"}`, "receipt --json --base main --session s1"},
		"next":             {"next", `{"session":"s1"}`, "next --session s1"},
		"lessons":          {"lessons", `{"session":"s1"}`, "lessons list --json"},
		"lessons, due":     {"lessons", `{"due":true}`, "lessons list --json --due"},
		"lessons, not due": {"lessons", `{"due":false}`, "lessons list --json"},
		"skills_report":    {"skills_report", `{"since":"2026-01-31","session":"s1"}`, "skills report --json --since 2026-01-31 --session s1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b.t = t
			result := b.call(c.tool, c.args)
			if c.want == "" {
				if !result.Refused {
					t.Errorf("%s %s = %+v, want a refusal", c.tool, c.args, result)
				}
				return
			}
			got := b.started()
			if result.IsError || got == nil || strings.Join(got.Args, " ") != strings.ReplaceAll(c.want, "$DIR", b.dir) {
				t.Errorf("%s %s runs %+v (%q), want %s", c.tool, c.args, got, result.Text, c.want)
			}
		})
	}
}

func TestFairleadTakesNothingElse(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	for name, c := range map[string]struct{ tool, args, want string }{
		"done":               {"done", `{}`, `no tool "done"`},
		"unknown input":      {"plan", `{"fix":true}`, "fix"},
		"missing paths":      {"brief", `{}`, "paths"},
		"empty paths":        {"context", `{"paths":[]}`, "paths"},
		"missing query":      {"find", `{}`, "query"},
		"empty query":        {"find", `{"query":""}`, "query"},
		"limit of 0":         {"find", `{"query":"q","limit":0}`, "limit"},
		"limit of 51":        {"find", `{"query":"q","limit":51}`, "limit"},
		"half a limit":       {"find", `{"query":"q","limit":1.5}`, "limit"},
		"a huge limit":       {"find", `{"query":"q","limit":1e999999999}`, "JSON object"},
		"limit as text":      {"find", `{"query":"q","limit":"5"}`, "limit"},
		"no date":            {"skills_report", `{"since":"yesterday"}`, "since"},
		"a list":             {"plan", `[]`, "JSON object"},
		"base is an option":  {"plan", `{"base":"--exec"}`, "not start with -"},
		"session likewise":   {"next", `{"session":"-x"}`, "not start with -"},
		"unpassed session":   {"plan", `{"session":"--x"}`, "not start with -"},
		"target likewise":    {"explain", `{"target":"-x"}`, "not start with -"},
		"target with a dot":  {"explain", `{"target":"--x.y"}`, "not start with -"},
		"query likewise":     {"find", `{"query":"--json"}`, "start with -"},
		"since likewise":     {"skills_report", `{"since":"-026-01-01"}`, "since"},
		"a path likewise":    {"brief", `{"paths":["--json"]}`, "start with -"},
		"base with a blank":  {"receipt", `{"base":"a b"}`, "letters"},
		"base of a shell":    {"receipt", `{"base":"$(id)"}`, "letters"},
		"a long base":        {"receipt", `{"base":"` + strings.Repeat("a", 201) + `"}`, "base"},
		"a path outside":     {"brief", `{"paths":["ok","../other/x"]}`, "leaves the workspace"},
		"a target outside":   {"explain", `{"target":"../other/x_test.go"}`, "leaves the workspace"},
		"an absolute path":   {"plan", `{"files":["/etc/passwd"]}`, "leaves the workspace"},
		"text in the paths":  {"brief", `{"paths":"a"}`, "paths"},
		"a number in paths":  {"brief", `{"paths":[1]}`, "paths"},
		"a query with a NUL": {"find", `{"query":"a\u0000b"}`, "NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.refused(b.call(c.tool, c.args), c.want)
		})
	}
}

func TestFairleadsResultsAreItsOutputByteForByte(t *testing.T) {
	const object, list, line = "{\"b\": 1,\n \"a\": \"<é>\"}\n", "[ {\"path\": \"x\"} ]\n", "next: run the tests\n"
	for name, c := range map[string]struct {
		tool, args, out string
		structured      bool
	}{
		"plan":    {"plan", `{}`, object, true},
		"brief":   {"brief", `{"paths":["a"]}`, object, true},
		"lessons": {"lessons", `{}`, list, false},
		"next":    {"next", `{}`, line, false},
		"explain": {"explain", `{"target":"lint"}`, object, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := serve(t, "builtin:fairlead", "say", "0", c.out, "noise").call(c.tool, c.args)
			if got.IsError || !slices.Equal(got.Text, []string{c.out}) {
				t.Errorf("text = %q, want %q alone", got.Text, c.out)
			}
			if c.structured != (got.Structured != nil) {
				t.Errorf("structuredContent = %s", got.Structured)
			}
		})
	}
}

func TestTextOfTheRepositoryIsMarkedAndNamedData(t *testing.T) {
	marked := []string{"brief", "context", "find", "lessons", "suspec_check"}
	for _, use := range toolset.Builtins() {
		b := serve(t, use, "say", "0", `{}`, "")
		for _, tool := range b.set.Tools() {
			want := slices.Contains(marked, tool.Name)
			if tool.RepositoryText != want || strings.Contains(tool.Description, "data, not instructions") != want {
				t.Errorf("%s: repository text %v with the description %q; want %v", tool.Name, tool.RepositoryText, tool.Description, want)
			}
		}
	}
	b := serve(t, "builtin:fairlead", "say", "0", `{}`, "")
	for tool, args := range map[string]string{
		"plan": `{}`, "explain": `{"target":"a"}`, "brief": `{"paths":["a"]}`, "context": `{"paths":["a"]}`, "find": `{"query":"q"}`,
		"receipt": `{}`, "next": `{}`, "lessons": `{}`, "skills_report": `{}`,
	} {
		got := b.call(tool, args)
		if has := got.Meta["fairlead/repository-text"] == true; has != slices.Contains(marked, tool) || len(got.Meta) > 1 {
			t.Errorf("%s: _meta = %v", tool, got.Meta)
		}
	}
}

func TestTheToolsAreListedAsTheSeedNamesThem(t *testing.T) {
	want := map[string][]string{
		"builtin:fairlead": {"plan", "explain", "brief", "context", "find", "receipt", "next", "lessons", "skills_report"},
		"builtin:suspec":   {"suspec_check", "suspec_get_checks"},
	}
	for use, names := range want {
		b := serve(t, use)
		var got []string
		for _, tool := range b.set.Tools() {
			got = append(got, tool.Name)
			if tool.Annotations != (toolset.Annotations{ReadOnlyHint: true, IdempotentHint: true}) {
				t.Errorf("%s: annotations = %+v", tool.Name, tool.Annotations)
			}
			var schema struct {
				Properties           map[string]any
				AdditionalProperties *bool
			}
			if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
				t.Errorf("%s: input schema %s, %v", tool.Name, tool.InputSchema, err)
			}
			if _, takes := schema.Properties["session"]; takes != (use == "builtin:fairlead") {
				t.Errorf("%s: takes a session: %v", tool.Name, takes)
			}
			if (tool.OutputSchema != nil) != (use == "builtin:suspec") {
				t.Errorf("%s: output schema %s", tool.Name, tool.OutputSchema)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s lists %q, want %q", use, got, names)
		}
	}
}

func TestTheSessionIsTold(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	for _, tool := range []string{"plan", "next"} {
		if got := b.call(tool, `{"session":"s-1"}`); got.Session != "s-1" || got.Outcome() != "ok" {
			t.Errorf("%s: session %q, outcome %s", tool, got.Session, got.Outcome())
		}
		if got := b.call(tool, `{}`); got.Session != "" {
			t.Errorf("%s without one: session %q", tool, got.Session)
		}
	}
	if got := b.call("brief", `{"paths":[".."],"session":"s-1"}`); got.Session != "s-1" || got.Outcome() != "refused" {
		t.Errorf("a refused call: session %q, outcome %s", got.Session, got.Outcome())
	}
}

func TestSamplesShowWhatEachToolRuns(t *testing.T) {
	for _, use := range toolset.Builtins() {
		b := serve(t, use)
		for _, tool := range b.set.Tools() {
			samples, err := b.set.Samples(b.place(), tool.Name)
			if err != nil || len(samples) == 0 {
				t.Fatalf("Samples(%s) = %q, %v", tool.Name, samples, err)
			}
			for _, sample := range samples {
				argv, err := b.set.Argv(b.place(), tool.Name, sample)
				if err != nil || len(argv) <= len(b.set.Command()) {
					t.Errorf("Argv(%s, %s) = %q, %v", tool.Name, sample, argv, err)
				}
			}
		}
	}
	b := serve(t, "builtin:fairlead")
	if _, err := b.set.Argv(b.place(), "next", nil); err != nil || b.started() != nil {
		t.Errorf("Argv = %v, and started %+v; want nothing run", err, b.started())
	}
}

func TestGitAsFairleadRunsItStartsNoCommandOfTheWorkspace(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	b.call("next", `{}`)
	want := []string{
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_VALUE_1=/dev/null", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin",
	}
	if got := b.started(); got == nil || !slices.Equal(got.Env, want) {
		t.Errorf("the environment = %+v, want %q", got, want)
	}
}
