// Command mcpgo serves a tool that does what agent_status_get does, the way one would with
// mcp-go: its own Streamable HTTP server, stateless, and a bearer token in front. The ship takes
// its messages apart with the same library, behind an HTTP side of its own.
package main

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"fleet/internal/bench/peers/front"
)

func main() { front.Main(serve) }

func serve(text string) http.Handler {
	s := server.NewMCPServer("mcpgo", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("agent_status_get", mcp.WithDescription("gives the agent's status")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(text), nil
		})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true))
}
