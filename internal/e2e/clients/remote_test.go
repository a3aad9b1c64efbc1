//go:build e2e

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"fleet/internal/e2e/table"
)

// modern is the _meta of a request of 2026-07-28.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"}}`

const (
	initialize  = `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// legacyTalk and modernTalk are what both adapters are sent, line by line, each after the answer
// to the one before.
func legacyTalk() []string {
	lines := []string{initialize, initialized, request(`1`, "ping", ""), request(`"list"`, "tools/list", "")}
	for i, c := range calls() {
		lines = append(lines, request(fmt.Sprint(i+10), "tools/call", c))
	}
	return append(lines, request(`0`, "no/such", ""), request(`"ü"`, "resources/list", ""))
}

func modernTalk() []string {
	lines := []string{request(`"probe"`, "server/discover", modern), request(`2`, "tools/list", modern)}
	for i, c := range calls() {
		lines = append(lines, request(fmt.Sprint(i+10), "tools/call", c+","+modern))
	}
	return append(lines, request(`0`, "no/such", modern), request(`"ping"`, "ping", modern),
		request(`"future"`, "tools/list", strings.Replace(modern, "2026-07-28", "2126-07-28", 1)))
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params)
}

// calls are the parameters of tool calls: such as succeed, such as are refused, and such as are
// none.
func calls() []string {
	return []string{
		`"name":"agent_status_get","arguments":{}`,
		`"name":"agent_status","arguments":{"state":"idle","description":"too early"}`,
		`"name":"agent_init","arguments":{"model":"none","provider":"none","harness":"two adapters"}`,
		`"name":"agent_init","arguments":{"model":"none"}`,
		`"name":"agent_status","arguments":{"state":"awaiting","description":"é \"#{x}\" $HOME \u2028 😀"}`,
		`"name":"agent_status","arguments":{"state":"sleeping","description":"x"}`,
		`"name":"agent_status_get"`,
		`"name":"agent_status_get","arguments":{"workspace":"other"}`,
		`"name":"repo_info","arguments":{}`,
		`"name":"repo_issue_list","arguments":{"state":"all"}`,
		`"name":"repo_issue_view","arguments":{"number":1}`,
		`"name":"repo_issue_view","arguments":{"number":404}`,
		`"name":"repo_issue_view","arguments":{"number":-1}`,
		`"name":"repo_pr_list"`,
		`"name":"repo_checks","arguments":{"ref":"main","pr":1}`,
		`"name":"no_such_tool","arguments":{}`,
		`"name":7,"arguments":{}`,
		`"arguments":{}`,
	}
}

func TestTheAnswersAreThoseOfTheReferenceAdapter(t *testing.T) {
	f := startFleet(t)
	f.repo.Issue("the bolts are loose")
	tools := 0
	for name, talk := range map[string][]string{"legacy": legacyTalk(), "modern": modernTalk()} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := f.twice(t, name, talk)
			for i, q := range questions(talk) {
				sameID(t, q, ours[i])
				sameID(t, q, theirs[i])
				if a, b := normal(t, ours[i]), normal(t, unwrapped(theirs[i])); !reflect.DeepEqual(a, b) {
					t.Errorf("%s\nis answered through agent-mcp with\n%s\nand through mcp-remote with\n%s", q, ours[i], theirs[i])
				}
				if strings.Contains(q, `"tools/list"`) {
					tools = max(tools, strings.Count(theirs[i], `"inputSchema"`))
				}
			}
		})
	}
	table.Client(t, table.ClientRow{
		Client: table.MCPRemote, Version: version(t, "mcp-remote"), Transport: table.HTTP, Protocol: "2025-11-25, 2026-07-28",
		Tools: tools, Call: fmt.Sprintf("%d lines, each as through agent-mcp", len(legacyTalk())+len(modernTalk())),
	})
}

// twice has the talk through agent-mcp and then through mcp-remote, each in a session of its own
// workspace, and gives the answers, one for each question.
func (f *fleet) twice(t *testing.T, name string, talk []string) (ours, theirs []string) {
	t.Helper()
	file := filepath.Join(f.mkdir(t, "talks"), name)
	if err := os.WriteFile(file, []byte(strings.Join(talk, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := fmt.Sprintf(`keep talk "$NODE" %s %s `, installed(t, "lines.mjs"), file)
	proxy := installed(t, "node_modules/mcp-remote/dist/proxy.js")
	a := f.start(t, name+"-ours", lines+`"$AGENT_MCP"`)
	b := f.start(t, name+"-theirs", lines+`"$NODE" `+proxy+` "$FLEET_AGENT_MCP_URL" --allow-http --header "Authorization: Bearer $FLEET_AGENT_MCP_TOKEN"`)
	return a.answers(t, talk), b.answers(t, talk)
}

// answers wants one answer for each question.
func (s *session) answers(t *testing.T, talk []string) []string {
	t.Helper()
	s.wait(t)
	k := s.kept(t, "talk")
	var answers []string
	if err := json.Unmarshal([]byte(k.out), &answers); err != nil || len(answers) != len(questions(talk)) {
		t.Fatalf("%s: %d lines for %d questions, %v\n%s%s", s.name, len(answers), len(questions(talk)), err, k.out, k.err)
	}
	return answers
}

func questions(talk []string) []string {
	var list []string
	for _, line := range talk {
		if strings.Contains(line, `"id":`) {
			list = append(list, line)
		}
	}
	return list
}

func sameID(t *testing.T, question, answer string) {
	t.Helper()
	var q, a struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(question), &q); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || string(a.ID) != string(q.ID) {
		t.Errorf("%s\nis answered under id %s: %v", question, a.ID, err)
	}
}

// unwrapped is an answer as the ship gave it: mcp-remote puts one of HTTP status 404, which is that
// of an unknown method in 2026-07-28, into an error of its own.
func unwrapped(answer string) string {
	var a struct{ Error struct{ Message string } }
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		return answer
	}
	text, wrapped := strings.CutPrefix(a.Error.Message, "mcp-remote: Error POSTing to endpoint: ")
	if !wrapped || !strings.Contains(text, "-32601") {
		return answer
	}
	return text
}

// normal is an answer without what differs from one workspace and one moment to another.
func normal(t *testing.T, answer string) any {
	t.Helper()
	for _, own := range []struct{ form, name string }{
		{`\\"session_id\\": \\"[0-9a-f-]{36}\\"`, "SESSION"},
		{`\\"(started|updated)_at\\": \\"20[0-9TZ:.-]+\\"`, "TIME"},
		{`-(ours|theirs)\\"`, "WORKSPACE"},
	} {
		answer = regexp.MustCompile(own.form).ReplaceAllString(answer, own.name)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Fatalf("%q is no JSON object: %v", answer, err)
	}
	return m
}
