//go:build e2e

// Package longlife runs the real ship and agent-mcp for long, under load and through upgrades: no
// request may go unanswered or be answered twice, no resource may grow, and nobody may slow his
// neighbour. Times are compared with times of the same run, never with a clock's.
package longlife

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// programs is the folder that holds the folders "old" and "new" with one build of the two
// programs each, told apart by their version. It is an environment variable of the test process,
// so that nothing here is a variable that tests could change.
const programs = "LONGLIFE_PROGRAMS"

func TestMain(m *testing.M) {
	flag.Float64("minutes", 1, "let the long life last so many `minutes`")
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, age := range []string{"old", "new"} {
		build := exec.Command("go", "build", "-ldflags", "-X fleet/internal/build.linked=v0-"+age,
			"-o", filepath.Join(dir, age)+string(filepath.Separator), "fleet/cmd/ship", "fleet/cmd/agent-mcp")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	// What the developer's own Fleet set must not reach the tests' programs.
	for _, name := range []string{"FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL", "FLEET_ATLAS", "TMUX", "TMUX_PANE"} {
		os.Unsetenv(name)
	}
	os.Setenv(programs, dir)
	flag.Parse()
	return m.Run()
}

// program is one of the two programs, of the build "old" or "new".
func program(age, name string) string { return filepath.Join(os.Getenv(programs), age, name) }

func minutes(t *testing.T) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(flag.Lookup("minutes").Value.String(), 64)
	if err != nil || n <= 0 || n > 600 {
		t.Fatalf("-minutes %v: want more than 0 and at most 600", n)
	}
	return n
}
