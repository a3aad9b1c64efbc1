// Command gosdk serves a tool that does what agent_status_get does, the way one would with
// go-sdk: its stateless Streamable HTTP handler, JSON answers, and a bearer token in front.
package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"fleet/internal/bench/peers/front"
)

func main() { front.Main(serve) }

func serve(text string) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "agent_status_get", Description: "gives the agent's status"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}
