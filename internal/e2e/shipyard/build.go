// Package shipyard builds Fleet's two programs for the tests that run them, and launches and ends
// daemons. What a ship does then is the tests' affair: it knows no tool, no token and no claim.
package shipyard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// built names the folder of what Run built. It is an environment variable of the test process, so
// that nothing here is a variable that tests could change.
const built = "SHIPYARD_BUILT"

// QuickEnd, in a program's environment, spares one that was built with -race the second that it
// sleeps at its end.
const QuickEnd = "GORACE=atexit_sleep_ms=0"

// Run is a TestMain's: it has build put programs into a new folder, runs the tests, and gives the
// exit status. nil builds both programs, as Build does. What the developer's own Fleet set in the
// environment does not reach the tests' programs.
func Run(m *testing.M, build func(dir string) error) int {
	dir, err := os.MkdirTemp("", "flb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if build == nil {
		build = func(dir string) error { return Build(dir) }
	}
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, name := range []string{"FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL", "FLEET_ATLAS", "TMUX", "TMUX_PANE"} {
		os.Unsetenv(name)
	}
	os.Setenv(built, dir)
	return m.Run()
}

// Build puts ship and agent-mcp into dir, which need not be there yet. flags are go build's.
func Build(dir string, flags ...string) error {
	args := append([]string{"build"}, flags...)
	c := exec.Command("go", append(args, "-o", dir+string(filepath.Separator), "fleet/cmd/ship", "fleet/cmd/agent-mcp")...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// Built is the path of something in the folder that Run had built, of the folder itself without
// elem.
func Built(elem ...string) string {
	return filepath.Join(append([]string{os.Getenv(built)}, elem...)...)
}
