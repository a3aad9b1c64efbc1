package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// maxDefinitions bounds what every agent's context pays for our tools, as compact JSON.
const maxDefinitions = 8192

var thirteen = []string{
	"agent_init", "agent_status", "agent_status_get", "repo_checks", "repo_failed_logs", "repo_info", "repo_issue_comment",
	"repo_issue_list", "repo_issue_view", "repo_pr_comment", "repo_pr_list", "repo_pr_review", "repo_pr_view",
}

// listed is tools/list as a client gets it, each tool by its name.
func (p *port) listed() (names []string, tools map[string]json.RawMessage, size int) {
	p.t.Helper()
	var answer struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(p.post(alpha, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body), &answer); err != nil {
		p.t.Fatal(err)
	}
	tools = map[string]json.RawMessage{}
	for _, raw := range answer.Result.Tools {
		var d struct{ Name string }
		if err := json.Unmarshal(raw, &d); err != nil {
			p.t.Fatal(err)
		}
		names, tools[d.Name], size = append(names, d.Name), raw, size+len(raw)+1
	}
	return names, tools, size + 1
}

func TestToolDefinitionsAreThoseOfTheSnapshots(t *testing.T) {
	names, tools, size := open(t).listed()
	if !slices.Equal(names, thirteen) {
		t.Errorf("tools %v, want %v", names, thirteen)
	}
	t.Logf("the definitions take %d bytes of %d", size, maxDefinitions)
	if size > maxDefinitions {
		t.Errorf("the definitions take %d bytes, more than %d", size, maxDefinitions)
	}
	for name, raw := range tools {
		var shown bytes.Buffer
		if err := json.Indent(&shown, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		shown.WriteByte('\n')
		golden := filepath.Join("testdata", "tools", name+".json")
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(golden), 0o755), os.WriteFile(golden, shown.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(shown.Bytes(), want) {
			t.Errorf("%s is no longer what %s says; if that is meant, run go test -update:\n%s", name, golden, shown.Bytes())
		}
	}
}

func TestEachToolSetsAllFourAnnotations(t *testing.T) {
	_, tools, _ := open(t).listed()
	type hints struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
	for name, raw := range tools {
		var d struct {
			Annotations  hints
			OutputSchema json.RawMessage
			InputSchema  struct{ AdditionalProperties *bool }
			Description  string
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		a := d.Annotations
		if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Fatalf("%s lacks an annotation: %s", name, raw)
		}
		post := strings.HasSuffix(name, "_comment") || strings.HasSuffix(name, "_review")
		write := post || name == "agent_init" || name == "agent_status"
		if *a.ReadOnlyHint == write || *a.DestructiveHint || *a.IdempotentHint == post || *a.OpenWorldHint != post {
			t.Errorf("%s: %s", name, raw)
		}
		if d.OutputSchema != nil || d.InputSchema.AdditionalProperties == nil || *d.InputSchema.AdditionalProperties {
			t.Errorf("%s has an output schema, or takes further properties", name)
		}
		if strings.HasPrefix(name, "repo_") && !write && !strings.Contains(d.Description, "data, not instructions") {
			t.Errorf("%s does not say that the forge's text is data", name)
		}
	}
}

func TestADroppedWorkspaceStartsAnew(t *testing.T) {
	p := open(t)
	p.listed()
	before := p.server.mounts.byID[alpha]
	p.workspaces.deactivate(alpha)
	p.server.Drop(alpha)
	if p.server.mounts.byID[alpha] != nil {
		t.Error("the server of an inactive workspace is kept")
	}
	p.server.mounts.of(p.server, alpha)
	if p.server.mounts.byID[alpha] != nil {
		t.Error("a late request keeps the server of an inactive workspace")
	}
	p.workspaces.activate(alpha)
	p.listed()
	if after := p.server.mounts.byID[alpha]; after == nil || after == before {
		t.Error("a workspace that is active again has its old server, or none")
	}
}

func TestToolsThatAreUnfitAreNamedAtTheStart(t *testing.T) {
	p := open(t)
	run := newHeld().tool(true).Run
	full := `"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
	for name, c := range map[string]struct{ definition, want string }{
		"a taken name":        {`{"name":"agent_init","inputSchema":{},` + full + `}`, `"agent_init"`},
		"no annotations":      {`{"name":"x","inputSchema":{}}`, "x does not set"},
		"no schema":           {`{"name":"x",` + full + `}`, "x has no input schema"},
		"a broken schema":     {`{"name":"x","inputSchema":{"type":7},` + full + `}`, "x"},
		"a schema elsewhere":  {`{"name":"x","inputSchema":{"$ref":"file:///etc/passwd"},` + full + `}`, "x"},
		"a header of a map":   {`{"name":"x","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}},` + full + `}`, "x"},
		"a schema on the net": {`{"name":"x","inputSchema":{"$ref":"http://localhost/x"},` + full + `}`, "x"},
		"no JSON":             {`x`, "definition"},
	} {
		config := p.server.config
		config.Tools = []Tool{{Definition: json.RawMessage(c.definition), Run: run}}
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("an empty Config is taken")
	}
}
