package server

import (
	"strings"
	"testing"
)

func TestUnfitArgumentsAreToldInASentenceToActOn(t *testing.T) {
	p := open(t)
	p.call(alpha, "agent_init", `{"model":"m","provider":"p","harness":"h"}`)
	before := p.call(alpha, "agent_status_get", `{}`)
	const bound = "this connection is bound to one workspace, and no tool takes a repository or workspace"
	const status = "\nNext: correct this and call agent_status again; it takes description, state"
	cases := map[string]struct{ tool, args, want string }{
		"a workspace":          {"agent_status", `{"state":"idle","description":"x","workspace":"b"}`, `invalid: agent_status has no argument "workspace": ` + bound + status},
		"a repo":               {"agent_status_get", `{"repo":"b"}`, `invalid: agent_status_get has no argument "repo": ` + bound + "\nNext: correct this and call agent_status_get again; it takes no arguments"},
		"a made-up argument":   {"repo_info", `{"verbose":true}`, `invalid: repo_info has no argument "verbose"` + "\n"},
		"another case":         {"agent_status", `{"State":"idle","description":"x"}`, `invalid: agent_status has no argument "State"; the argument "state" is missing` + status},
		"nothing at all":       {"agent_status", `{}`, `invalid: the argument "description" is missing; the argument "state" is missing` + status},
		"null":                 {"agent_status", `{"state":null,"description":"x"}`, `invalid: "state" must be a string` + status},
		"a number for text":    {"agent_init", `{"model":7,"provider":"p","harness":"h"}`, `invalid: "model" must be a string` + "\n"},
		"a list for text":      {"agent_init", `{"model":["m"],"provider":"p","harness":"h"}`, `invalid: "model" must be a string` + "\n"},
		"empty":                {"agent_init", `{"model":"","provider":"p","harness":"h"}`, `invalid: "model" must not be empty` + "\n"},
		"blank":                {"agent_init", `{"model":" \t ","provider":"p","harness":"h"}`, `invalid: "model" must not be empty` + "\n"},
		"too long":             {"agent_init", `{"model":"` + strings.Repeat("é", 257) + `","provider":"p","harness":"h"}`, `invalid: "model" has 257 characters; at most 256 are allowed` + "\n"},
		"too many bytes":       {"agent_init", `{"model":"` + strings.Repeat("é", 200) + `","provider":"p","harness":"h"}`, "invalid: model has 400 bytes; at most 256 are allowed\n"},
		"a control character":  {"agent_status", `{"state":"idle","description":"a\u001b[31m"}`, "invalid: description holds a control character"},
		"half a character":     {"agent_status", `{"state":"idle","description":"a \ud83d b"}`, `invalid: a \u escape names half of a character`},
		"the wrong half":       {"agent_status", `{"state":"idle","description":"\ude00\ud83d"}`, `invalid: a \u escape names half of a character`},
		"not one of the five":  {"agent_status", `{"state":"done","description":"x"}`, `invalid: "state" must be one of idle, planning, building, verifying, awaiting` + status},
		"an empty state":       {"agent_status", `{"state":"","description":"x"}`, `invalid: "state" must be one of `},
		"a long description":   {"agent_status", `{"state":"idle","description":"` + strings.Repeat("x", 1001) + `"}`, `invalid: "description" has 1001 characters; at most 1000 are allowed`},
		"a fraction":           {"repo_issue_view", `{"number":1.5}`, `invalid: "number" must be a whole number, without quotes` + "\n"},
		"a number in quotes":   {"repo_issue_view", `{"number":"7"}`, `invalid: "number" must be a whole number, without quotes` + "\n"},
		"zero":                 {"repo_issue_view", `{"number":0}`, `invalid: "number" must be 1 or more` + "\n"},
		"zero with a point":    {"repo_issue_view", `{"number":-0.0}`, `invalid: "number" must be 1 or more` + "\n"},
		"below zero":           {"repo_pr_view", `{"number":-1}`, `invalid: "number" must be 1 or more` + "\n"},
		"beyond all numbers":   {"repo_pr_view", `{"number":1e999999999}`, `invalid: "number" is far too large` + "\n"},
		"a great number":       {"repo_pr_view", `{"number":100000000000000000000}`, `invalid: "number" is far too large` + "\n"},
		"hardly a number":      {"repo_pr_view", `{"number":1e-999999999}`, `invalid: "number" must be`},
		"two targets":          {"repo_checks", `{"pr":7,"ref":"main"}`, "invalid: pr and ref are two targets; pass at most one\nNext: "},
		"two targets for logs": {"repo_failed_logs", `{"pr":7,"ref":"main"}`, "invalid: pr and ref are two targets; pass at most one\nNext: "},
		"a blank body":         {"repo_issue_comment", `{"number":7,"body":"\n"}`, `invalid: "body" must not be empty` + "\n"},
		"a blank ref":          {"repo_checks", `{"ref":" "}`, `invalid: "ref" must not be empty` + "\n"},
		"an invisible model":   {"agent_init", `{"model":"\u200b\u2060","provider":"p","harness":"h"}`, `invalid: "model" must not be empty` + "\n"},
		"an invisible status":  {"agent_status", `{"state":"idle","description":" \ufeff\u00ad "}`, `invalid: "description" must not be empty` + status},
		"an invisible body":    {"repo_issue_comment", `{"number":7,"body":"\u200b\n\u2028"}`, `invalid: "body" must not be empty` + "\n"},
		"an event in small":    {"repo_pr_review", `{"number":7,"event":"approve"}`, `invalid: "event" must be one of APPROVE, REQUEST_CHANGES, COMMENT` + "\n"},
		"a state that is none": {"repo_pr_list", `{"state":"merged"}`, `invalid: "state" must be one of open, closed, all` + "\n"},
		"many at once":         {"repo_info", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`, `invalid: repo_info has no argument "a"; repo_info has no argument "b"; repo_info has no argument "c"; repo_info has no argument "d"; and 2 more` + "\n"},
		"a name without end":   {"repo_info", `{"` + strings.Repeat("x", 5000) + `":1}`, `invalid: repo_info has no argument "` + strings.Repeat("x", 100) + `…"` + "\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := p.call(alpha, c.tool, c.args)
			if !got.IsError || !strings.HasPrefix(got.Text, c.want) {
				t.Errorf("%s\ngot  %s\nwant %s", c.args, got.Text, c.want)
			}
			for _, dump := range []string{"Go ", "json", "jsonschema", "map[", "&{", "tool:", "float64", "#/"} {
				if strings.Contains(got.Text, dump) {
					t.Errorf("%q shows our insides: %s", dump, got.Text)
				}
			}
		})
	}
	if after := p.call(alpha, "agent_status_get", `{}`); after != before {
		t.Errorf("refused calls changed the status to %s", after.Text)
	}
	for _, e := range p.events.of("tool.call")[2:] {
		if e.Outcome != "refused" && e.Tool != "agent_status_get" {
			t.Errorf("%s is logged as %s, want refused", e.Tool, e.Outcome)
		}
	}
}

// The schema counted them before they were cut off.
func TestBlanksAroundAnAgentsTextsDoNotCount(t *testing.T) {
	p := open(t)
	model, description := strings.Repeat("m", 256), strings.Repeat("é", 1000)
	if got := p.call(alpha, "agent_init", `{"model":" `+model+`\n","provider":"p","harness":"h"}`); got.IsError || !strings.Contains(got.Text, `"`+model+`"`) {
		t.Errorf("agent_init: %s", got.Text)
	}
	if got := p.call(alpha, "agent_status", `{"state":"idle","description":" `+description+`\u00a0"}`); got.IsError || !strings.Contains(got.Text, `"`+description+`"`) {
		t.Errorf("agent_status: %s", got.Text)
	}
}

func TestWholeNumbersAreThoseOfJSONSchema(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "-0": true, "7": true, "7.0": true, "7.00e0": true, "7e2": true, "7E+2": true, "700e-2": true, "1.5e1": true, "0e-9": true, "0.000e-99999999999999999999": true,
		"1.5": false, "15e-1": false, "1e-1": false, "1.05e1": false, "700e-3": false, "1e-99999999999999999999": false, "1e99999999999999999999": true, "-7.5": false, "-70e-1": true,
	} {
		if got := integral(text); got != want {
			t.Errorf("integral(%s) = %t, want %t", text, got, want)
		}
	}
}

func TestPairedSurrogatesAndEscapedBackslashesPass(t *testing.T) {
	for raw, want := range map[string]bool{
		`"\ud83d\ude00"`: false, `"\uD83D\uDE00 \u00e9"`: false, `"\\ud83d"`: false, `"\\\\"`: false, `"x"`: false, `""`: false, `"\n\t"`: false,
		`"\ud83d"`: true, `"\\\ud83d"`: true, `"\ud83d\n"`: true, `"\ud83dx"`: true, `"\ude00"`: true, `"\ud83d\ud83d\ude00"`: true, `"\ud83d\u0041"`: true,
	} {
		if got := loneSurrogate([]byte(raw)); got != want {
			t.Errorf("loneSurrogate(%s) = %t, want %t", raw, got, want)
		}
	}
}
