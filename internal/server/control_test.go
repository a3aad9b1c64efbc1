package server

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"fleet/api"
)

// TestACallIsAnsweredAsMCPGoAnswersIt is the control of what is written without it: the same call
// of a tool with the same content, handed to mcp-go.
func TestACallIsAnsweredAsMCPGoAnswersIt(t *testing.T) {
	text := func(s string) mcp.TextContent { return mcp.TextContent{Type: "text", Text: s} }
	marked := &mcp.Meta{AdditionalFields: map[string]any{"fleet/repository-text": true}}
	rich := []mcp.Content{
		text("a"),
		mcp.ImageContent{Type: "image", Data: "eA==", MIMEType: "image/png"},
		mcp.EmbeddedResource{Type: "resource", Resource: mcp.TextResourceContents{URI: "x:y", MIMEType: "text/plain", Text: "<b>"}},
	}
	for name, c := range map[string]struct {
		result Result
		err    error
		want   mcp.CallToolResult
	}{
		"text":                    {Result{JSON: json.RawMessage(`"<&>é\u2028"`)}, nil, mcp.CallToolResult{Content: []mcp.Content{text(`"<&>é\u2028"`)}}},
		"the repository's text":   {Result{JSON: json.RawMessage(`1`), RepositoryText: true}, nil, mcp.CallToolResult{Result: mcp.Result{Meta: marked}, Content: []mcp.Content{text("1")}}},
		"other content":           {Result{Content: rich}, nil, mcp.CallToolResult{Content: rich}},
		"other content, marked":   {Result{Content: rich, RepositoryText: true}, nil, mcp.CallToolResult{Result: mcp.Result{Meta: marked}, Content: rich}},
		"nothing in the content":  {Result{Content: []mcp.Content{}}, nil, mcp.CallToolResult{Content: []mcp.Content{}}},
		"a failure":               {Result{}, &api.Error{Code: api.Conflict, Message: "no"}, mcp.CallToolResult{Content: []mcp.Content{text("conflict: no")}, IsError: true}},
		"a failure of some other": {Result{}, errors.Join(&api.Error{Code: api.NotFound, Message: "gone"}), mcp.CallToolResult{Content: []mcp.Content{text("not_found: gone")}, IsError: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, func(config *Config) { config.Repository = &forge{result: c.result, err: c.err} })
			bare := mcpgo.NewMCPServer("fleet-agent", "1.2.3")
			bare.AddTool(mcp.NewTool("repo_info"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				want := c.want
				if want.Meta != nil {
					want.Meta = &mcp.Meta{AdditionalFields: map[string]any{"fleet/repository-text": true}}
				}
				return &want, nil
			})
			everyRevision(t, func(t *testing.T, revision string) {
				s := saidIn(revision, "1", "tools/call", `{"name":"repo_info"}`)
				control, err := json.Marshal(bare.HandleMessage(t.Context(), json.RawMessage(s.body)))
				if err != nil {
					t.Fatal(err)
				}
				if got := p.in(t).post(alpha, s.body, s.headers...); got.status != 200 || !sameJSON(t, got.body, string(control)) {
					t.Errorf("got  %d %s\nwant %s", got.status, got.body, control)
				}
			})
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var left, right any
	if err := errors.Join(json.Unmarshal([]byte(a), &left), json.Unmarshal([]byte(b), &right)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(left, right)
}

// The capabilities are asked for as mcp-go asks, whatever the method.
func TestAModernRequestSaysWhatItsClientIsCapableOf(t *testing.T) {
	p := open(t)
	bare := mcpgo.NewMCPServer("fleet-agent", "1.2.3", mcpgo.WithToolCapabilities(false))
	for capabilities, fit := range map[string]bool{
		`{}`: true, `{"elicitation":{}}`: true, `{"sampling":{},"x/y":{"z":1}}`: true, `{"experimental":{"a":{}}}`: true,
		`null`: false, `[]`: false, `"x"`: false, `true`: false, `{"sampling":7}`: false, `{"experimental":[]}`: false, "": false,
	} {
		for _, method := range []string{"tools/list", "tools/call", "server/discover"} {
			s := saidIn(modernVersion, "1", method, `{"name":"agent_status_get"}`)
			const meant = `"io.modelcontextprotocol/clientCapabilities":{}`
			if capabilities == "" {
				s.body = strings.Replace(s.body, meant, `"x":1`, 1)
			} else {
				s.body = strings.Replace(s.body, meant, strings.Replace(meant, "{}", capabilities, 1), 1)
			}
			g := p.post(alpha, s.body, s.headers...)
			if ok := g.status == 200; ok != fit || !ok && (g.status != 400 || !strings.Contains(g.body, `"code":-32602`)) {
				t.Errorf("%s with %s: %d %s, want it taken: %t", method, capabilities, g.status, g.body, fit)
			}
			if method == "tools/call" {
				continue // which the bare server has not
			}
			if _, failed := bare.HandleMessage(t.Context(), json.RawMessage(s.body)).(mcp.JSONRPCError); failed == fit {
				t.Errorf("mcp-go takes %s with %s: %t, want %t", method, capabilities, !failed, fit)
			}
		}
	}
}
