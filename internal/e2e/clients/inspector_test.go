//go:build e2e

package clients

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/table"
)

// inspector is the MCP Inspector's command line in one of its eras.
type inspector struct {
	client, era, protocol string
}

const loadRequests = 200

func TestTheInspectorFindsNothingInAnyEra(t *testing.T) {
	f := startFleet(t)
	for _, i := range []inspector{
		{table.InspectorLegacy, "legacy", "2025-11-25"},
		{table.InspectorAuto, "auto", "2026-07-28"},
		{table.InspectorModern, "modern", "2026-07-28"},
	} {
		for _, transport := range []string{table.Stdio, table.HTTP} {
			t.Run(i.client+" over "+transport, func(t *testing.T) { i.try(t, f, transport) })
		}
	}
}

// script runs the Inspector once for each method, as it is made for.
func (i inspector) script(t *testing.T, transport string) string {
	target := `"$AGENT_MCP"`
	if transport == table.HTTP {
		target = `"$FLEET_AGENT_MCP_URL" --transport http --header "Authorization: Bearer $FLEET_AGENT_MCP_TOKEN" --stored-auth-only`
	}
	cli := installed(t, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	inspect := fmt.Sprintf(`inspect() { as=$1; shift; keep "$as" "$NODE" %s --cli %s --protocol-era %s --format json --method "$@"; }`, cli, target, i.era)
	return strings.Join([]string{
		inspect,
		`inspect open initialize`,
		`inspect list tools/list --strict`,
		`inspect init tools/call --tool-name agent_init --tool-arg model=none provider=none harness=inspector`,
		`inspect status tools/call --tool-name agent_status --tool-args-json '{"state":"verifying","description":"é \"#{x}\" $HOME"}'`,
		`inspect get tools/call --tool-name agent_status_get`,
		`inspect unknown tools/call --tool-name no_such_tool`,
		fmt.Sprintf(`inspect load tools/call --tool-name agent_status_get --load --load-requests %d`, loadRequests),
	}, "\n")
}

func (i inspector) try(t *testing.T, f *fleet, transport string) {
	t.Parallel()
	run := f.start(t, "inspector-"+i.era+"-"+transport, i.script(t, transport))
	run.wait(t)
	var open struct{ ProtocolVersion string }
	run.result(t, "open", &open)
	if open.ProtocolVersion != i.protocol {
		t.Errorf("protocol %q was negotiated, want %q", open.ProtocolVersion, i.protocol)
	}
	tools := i.checkList(t, run)
	for call, want := range map[string]status{
		"init":   {Harness: "inspector", State: "idle"},
		"status": {Harness: "inspector", State: "verifying", Description: `é "#{x}" $HOME`},
		"get":    {Harness: "inspector", State: "verifying", Description: `é "#{x}" $HOME`},
	} {
		want.Repo, want.Workspace, _ = strings.Cut(run.name, "/")
		if got := run.toolAnswer(t, call).status(t); got != want {
			t.Errorf("%s answered %+v, want %+v", call, got, want)
		}
	}
	if k := run.kept(t, "unknown"); k.code != "5" || !strings.Contains(k.err, "no_such_tool") {
		t.Errorf("an unknown tool ends the Inspector with %+v, want status 5 and the tool's name", k)
	}
	i.checkLoad(t, run)
	table.Client(t, table.ClientRow{
		Client: i.client, Version: version(t, "@modelcontextprotocol/inspector"), Transport: transport,
		Protocol: open.ProtocolVersion, Tools: tools,
		Call: fmt.Sprintf("agent_init, agent_status, agent_status_get; --strict; --load %d", loadRequests),
	})
}

// checkList wants the thirteen tools and not one finding about their schemas, an error or a
// warning; it gives how many tools there are.
func (i inspector) checkList(t *testing.T, run *session) int {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	run.result(t, "list", &list)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, thirteen) {
		t.Errorf("the tools are %q, want %q", names, thirteen)
	}
	return len(names)
}

func (i inspector) checkLoad(t *testing.T, run *session) {
	t.Helper()
	var load struct {
		Requests, OK, ToolErrors, Errors int
		ErrorMessages                    []string
	}
	run.result(t, "load", &load)
	if load.OK != loadRequests || load.Requests != loadRequests || load.ToolErrors+load.Errors != 0 {
		t.Errorf("of %d requests at once %+v", loadRequests, load)
	}
}

// result reads what a run of the Inspector that went well, and without a word on standard error,
// has brought.
func (s *session) result(t *testing.T, name string, into any) {
	t.Helper()
	k := s.kept(t, name)
	envelope := struct{ Result any }{into}
	if err := json.Unmarshal([]byte(k.out), &envelope); err != nil || k.code != "0" || k.err != "" {
		t.Errorf("%s ended with %+v: %v; want status 0 and silence", name, k, err)
	}
}

func (s *session) toolAnswer(t *testing.T, name string) answer {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	s.result(t, name, &r)
	if len(r.Content) == 0 {
		t.Errorf("%s brought no content", name)
		return answer{}
	}
	return answer{r.Content[0].Text, r.IsError, len(r.Content)}
}
