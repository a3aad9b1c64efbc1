package table

import (
	"fmt"
	"slices"
)

// The suites.
const (
	// Conformance is the official suite against the product as it is.
	Conformance = "conformance"
	// ConformanceFixtures is the official suite with its own fixture tools on the product's stack.
	ConformanceFixtures = "conformance, fixture tools"
)

// The clients. Where one has several modes, each is a client of its own.
const (
	ClaudeCode      = "Claude Code"
	Codex           = "Codex"
	GeminiCLI       = "Gemini CLI"
	OpenCode        = "opencode"
	CopilotCLI      = "Copilot CLI"
	InspectorLegacy = "MCP Inspector, legacy"
	InspectorAuto   = "MCP Inspector, auto"
	InspectorModern = "MCP Inspector, modern"
	SDKv1           = "TypeScript SDK v1"
	SDKv2Legacy     = "TypeScript SDK v2, legacy"
	SDKv2Auto       = "TypeScript SDK v2, auto"
	SDKv2Pinned     = "TypeScript SDK v2, 2026-07-28"
	MCPRemote       = "mcp-remote"
)

// The transports: through agent-mcp, and at the ship's port with the session's token.
const (
	Stdio = "stdio"
	HTTP  = "http"
)

// tools is how many a workspace without toolsets has.
const tools = 13

// expectedSuite names one row that has to be there.
type expectedSuite struct{ suite, revision string }

// expectedClient names one row that has to be there. A version is named where one program is
// tried in two.
type expectedClient struct{ client, version, transport string }

func (e expectedClient) name() string {
	if e.version == "" {
		return e.client
	}
	return e.client + " " + e.version
}

func expectedSuites() []expectedSuite {
	var rows []expectedSuite
	for _, suite := range []string{Conformance, ConformanceFixtures} {
		for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			rows = append(rows, expectedSuite{suite, revision})
		}
	}
	return rows
}

func expectedClients() []expectedClient {
	var rows []expectedClient
	both := func(client, version string) {
		rows = append(rows, expectedClient{client, version, Stdio}, expectedClient{client, version, HTTP})
	}
	both(ClaudeCode, "2.1.332")
	both(ClaudeCode, "2.1.197")
	for _, client := range []string{
		Codex, GeminiCLI, OpenCode, CopilotCLI,
		InspectorLegacy, InspectorAuto, InspectorModern,
		SDKv1, SDKv2Legacy, SDKv2Auto, SDKv2Pinned,
	} {
		both(client, "")
	}
	return append(rows, expectedClient{MCPRemote, "", HTTP})
}

// expected finds the row that r fills.
func (r ClientRow) expected() (expectedClient, bool) {
	rows := expectedClients()
	i := slices.IndexFunc(rows, func(e expectedClient) bool {
		return e.client == r.Client && e.transport == r.Transport && (e.version == "" || e.version == r.Version)
	})
	if i < 0 {
		return expectedClient{}, false
	}
	return rows[i], true
}

// name is the one that known-limits.yaml has for the client.
func (r ClientRow) name() string {
	if e, ok := r.expected(); ok {
		return e.name()
	}
	return r.Client
}

// problem says what is wrong with the row, or nothing.
func (r ClientRow) problem() string {
	where := fmt.Sprintf("%s %s over %s", r.Client, r.Version, r.Transport)
	if _, ok := r.expected(); !ok {
		return where + " is no row of the table"
	}
	switch {
	case r.Version == "" || r.Protocol == "" || r.Call == "":
		return fmt.Sprintf("%s lacks its version, its protocol or its call: %+v", where, r)
	case r.Tools != tools:
		return fmt.Sprintf("%s listed %d tools, want %d", where, r.Tools, tools)
	}
	return ""
}

// problem says what is wrong with the row, or nothing.
func (r SuiteRow) problem() string {
	where := fmt.Sprintf("%s at %s", r.Suite, r.Revision)
	if !slices.Contains(expectedSuites(), expectedSuite{r.Suite, r.Revision}) {
		return where + " is no row of the table"
	}
	switch {
	case r.Failed != r.Expected:
		return fmt.Sprintf("%s has %d failed checks, %d of them expected", where, r.Failed, r.Expected)
	case r.Passed == 0:
		return where + " has passed no check"
	}
	return ""
}
