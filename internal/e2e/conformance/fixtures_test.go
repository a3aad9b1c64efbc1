//go:build e2e

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
	"fleet/internal/e2e/table"
	"fleet/internal/server"
	"fleet/internal/token"
)

// TestTheStackConformsWithTheSuitesTools runs the suite against the product's router, layers and
// door, behind which the suite's fixture tools stand beside Fleet's own.
func TestTheStackConformsWithTheSuitesTools(t *testing.T) {
	tryAll(t, table.ConformanceFixtures, "fixtures", serveFixtures(t))
}

// one is the only workspace of an atlas that needs no tmux.
type one struct {
	id   atlas.ID
	book *agent.Book
}

func (o *one) Agents() *agent.Book                               { return o.book }
func (o *one) Active(id atlas.ID) bool                           { return id == o.id }
func (o *one) MarkSeen(context.Context, atlas.ID)                {}
func (o *one) Ready(context.Context) error                       { return nil }
func (o *one) SaveAgent(context.Context, atlas.ID, string) error { return nil }

// unread is an event log that nobody reads.
type unread struct{}

func (unread) Append(api.Event) error { return nil }

func serveFixtures(t *testing.T) endpoint {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	w := &one{id: atlas.ID{Repo: "r", Name: "w"}}
	w.book = agent.NewBook(w, unread{}, logger)
	opens, tokens := token.Mint(), &token.Table[atlas.ID]{}
	tokens.Add(opens, w.id)
	s, err := server.New(server.Config{Workspaces: w, Tokens: tokens, Events: unread{}, Logger: logger, Tools: fixtures()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := server.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	// The suite's proxy shows it to nobody else.
	return endpoint{fmt.Sprintf("http://127.0.0.1:%d%s", l.Port(), w.id.MCPPath()), opens.Reveal()}
}

const (
	// An image of one pixel, and a sound of one sample.
	image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
	sound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="

	noArguments = `{"type":"object","additionalProperties":false}`
	// mirrored has an argument that a client repeats in a header.
	mirrored = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"additionalProperties":false}`
	// rich uses the keywords of JSON Schema 2020-12 that the suite looks for.
	rich = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
			"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
		"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`
)

// fixtures are the tools that the suite's scenarios call, as far as a tool behind this door can be
// what they ask for.
func fixtures() []server.Tool {
	text := func(s string) mcp.Content { return mcp.TextContent{Type: "text", Text: s} }
	picture := mcp.ImageContent{Type: "image", Data: image, MIMEType: "image/png"}
	document := func(uri, kind, content string) mcp.Content {
		return mcp.EmbeddedResource{Type: "resource", Resource: mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: content}}
	}
	return []server.Tool{
		fixture("test_simple_text", noArguments, text("This is a simple text response for testing.")),
		fixture("test_image_content", noArguments, picture),
		fixture("test_audio_content", noArguments, mcp.AudioContent{Type: "audio", Data: sound, MIMEType: "audio/wav"}),
		fixture("test_embedded_resource", noArguments, document("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		fixture("test_multiple_content_types", noArguments, text("Multiple content types test:"), picture,
			document("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		fixture("test_tool_with_progress", noArguments, text("done, without a word on the way")),
		fixture("test_logging_tool", noArguments, text("done, and nothing logged")),
		fixture("test_streaming_elicitation", noArguments, text("done, and nobody asked")),
		fixture("test_custom_header", mirrored, text("the header agrees")),
		fixture("json_schema_2020_12_tool", rich, text("fits")),
		failing("test_error_handling"),
	}
}

// fixture is a tool that always answers with content.
func fixture(name, schema string, content ...mcp.Content) server.Tool {
	return server.Tool{Definition: definition(name, schema), Run: func(context.Context, server.Invocation) (server.Result, error) {
		return server.Result{Content: append([]mcp.Content(nil), content...)}, nil
	}}
}

func failing(name string) server.Tool {
	return server.Tool{Definition: definition(name, noArguments), Run: func(context.Context, server.Invocation) (server.Result, error) {
		return server.Result{}, &api.Error{Code: api.Invalid, Message: "this tool intentionally returns an error for testing"}
	}}
}

func definition(name, schema string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":%q,"description":"A tool of the conformance suite.","inputSchema":%s,
		"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`, name, schema))
}
