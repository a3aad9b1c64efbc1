package toolset_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"fleet/api"
)

// checks is the table of the contract 0.27.0, as the checker prints it.
func checks() [][3]string {
	return [][3]string{
		{"C001", "unique-ids", "hard-error"},
		{"C002", "duplicate-id", "hard-error"},
		{"C003", "verify-with", "hard-error"},
		{"C004", "one-strength-word", "hard-error"},
		{"C007", "no-tbd-at-ready", "hard-error"},
		{"C008", "sources-named", "warning"},
		{"C009", "broken-source-link", "hard-error"},
		{"C010", "preserves-refs-resolve", "hard-error"},
		{"C011", "waves-present", "warning"},
		{"C015", "citation-resolves", "warning"},
		{"C019", "malformed-requirement-heading", "warning"},
		{"C021", "intent-present", "hard-error"},
		{"C022", "task-shape", "hard-error"},
		{"C023", "task-evidence", "hard-error"},
		{"C024", "closed-task-resolved", "hard-error"},
		{"C025", "spec-shape", "hard-error"},
		{"C028", "requirement-shape", "hard-error"},
		{"C029", "campaign-shape", "hard-error"},
		{"C030", "campaign-authority", "hard-error"},
		{"C031", "campaign-ready", "hard-error"},
	}
}

// contract is the checker's answer to --contract.
func contract(version string, table [][3]string) string {
	type check struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Severity string `json:"severity"`
	}
	list := []check{}
	for _, row := range table {
		list = append(list, check{row[0], row[1], row[2]})
	}
	raw, _ := json.MarshalIndent(map[string]any{"version": version, "checks": list}, "", "  ")
	return string(raw) + "\n"
}

func TestGetChecksGivesIDsAndSeveritiesAndInDetailNames(t *testing.T) {
	b := saying(t, 0, strings.TrimSpace(contract("0.27.0", checks())))
	short := open(t, b.call("suspec_get_checks", `{}`))
	whole := open(t, b.call("suspec_get_checks", `{"responseFormat":"detailed"}`))
	var c struct {
		Version string
		Checks  []map[string]string
	}
	if err := json.Unmarshal(short.Data, &c); err != nil || c.Version != "0.27.0" || len(c.Checks) != 20 || len(c.Checks[0]) != 2 || c.Checks[5]["severity"] != "warning" {
		t.Errorf("concise = %s", short.Data)
	}
	if strings.Contains(string(short.Data), "sources-named") || !strings.Contains(string(whole.Data), "sources-named") {
		t.Errorf("names: concise %s, detailed %s", short.Data, whole.Data)
	}
	got := b.call("suspec_get_checks", `{}`)
	if got.Meta != nil {
		t.Errorf("_meta = %v: the contract is no text of the repository", got.Meta)
	}
}

func TestOnlyTheExactContractIsServed(t *testing.T) {
	b := speaker(t, "builtin:suspec")
	table := checks()
	cut, milder, renamed, twice := table[1:], slices.Clone(table), slices.Clone(table), slices.Clone(table)
	milder[0][2], renamed[0][1], twice[1] = "warning", "other", twice[0]
	good := contract("0.27.0", table)
	for name, c := range map[string]struct {
		exit int
		out  string
		want string
	}{
		"exact":            {0, good, ""},
		"with more fields": {0, strings.Replace(good, `"version"`, `"more":1,"version"`, 1), ""},
		"older":            {0, contract("0.26.0", table), "/version"},
		"newer":            {0, contract("0.28.0", table), "/version"},
		"patch":            {0, contract("0.27.1", table), "/version"},
		"a check less":     {0, contract("0.27.0", cut), "checks"},
		"a check more":     {0, contract("0.27.0", append(slices.Clone(table), [3]string{"C099", "x", "warning"})), "checks"},
		"another severity": {0, contract("0.27.0", milder), "severity"},
		"another name":     {0, contract("0.27.0", renamed), "name"},
		"a check twice":    {0, contract("0.27.0", twice), "checks"},
		"exit 1":           {1, good, "exit code 1"},
		"exit 2":           {2, declined, "exit code 2"},
		"exit 9":           {9, good, "exit code 9"},
		"nothing":          {0, "", "JSON"},
		"no JSON":          {0, "0.27.0.", "JSON"},
		"something after":  {0, good + "{}", "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.say(c.exit, c.out)
			want := strings.ReplaceAll(c.want, "/", "$.")
			verified := b.set.Verify(t.Context())
			_, read := b.set.ReadResource(t.Context(), b.place(), "suspec://checks")
			if c.want == "" {
				if verified != nil || read != nil {
					t.Errorf("Verify = %v, ReadResource = %v", verified, read)
				}
				return
			}
			if verified == nil || !strings.Contains(verified.Error(), want) {
				t.Errorf("Verify = %v, want an error that says %q", verified, want)
			}
			var e *api.Error
			if !errors.As(read, &e) || e.Code != api.Unavailable {
				t.Errorf("ReadResource = %v, want an error with code unavailable", read)
			}
		})
	}
}

func TestTheContractIsAskedForOutsideAnyWorkspace(t *testing.T) {
	b := serve(t, "builtin:suspec")
	if err := b.set.Verify(t.Context()); err == nil {
		t.Error("Verify took something else for the contract")
	}
	if got := b.started(); got == nil || got.Dir != "/" || !slices.Equal(got.Args, []string{"check", "--contract", "--json"}) {
		t.Errorf("Verify started %+v", got)
	}
	if err := serve(t, "builtin:fairlead").set.Verify(t.Context()); err != nil {
		t.Errorf("Verify of a toolset without a contract = %v", err)
	}
}

func TestTheResourceIsTheWholeContract(t *testing.T) {
	b := saying(t, 0, strings.TrimSpace(contract("0.27.0", checks())))
	if got := b.set.Resources(); len(got) != 1 || got[0].URI != "suspec://checks" || got[0].Name != "checks" || got[0].MIMEType != "application/json" {
		t.Errorf("resources = %+v", got)
	}
	got, err := b.set.ReadResource(t.Context(), b.place(), "suspec://checks")
	if err != nil || got.MIMEType != "application/json" || got.Text+"\n" != contract("0.27.0", checks()) {
		t.Errorf("ReadResource = %s, %s, %v", got.MIMEType, got.Text, err)
	}
	var e *api.Error
	if _, err := b.set.ReadResource(t.Context(), b.place(), "suspec://other"); !errors.As(err, &e) || e.Code != api.NotFound {
		t.Errorf("ReadResource of an unknown URI = %v", err)
	}
	if got := serve(t, "builtin:fairlead").set.Resources(); len(got) != 0 {
		t.Errorf("fairlead has resources: %+v", got)
	}
}
