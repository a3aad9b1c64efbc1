// Package promises_test holds Fleet to what it promises its users, one claim a test: the real
// ship and agent-mcp, a real tmux on the atlas's own socket and a real git. No harness and no
// model take part; they are the far end, and the tests stand in for it.
package promises_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// programs is the folder of the two programs. It is an environment variable of the test process,
// so that nothing here is a variable that tests could change.
const programs = "PROMISES_PROGRAMS"

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
	// What the developer's own Fleet set must not reach the tests' programs.
	for _, name := range []string{"FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL", "FLEET_ATLAS", "TMUX", "TMUX_PANE"} {
		os.Unsetenv(name)
	}
	os.Setenv(programs, dir)
	// The tests wait for other processes most of the time.
	flag.Parse()
	if own := flag.Lookup("test.parallel"); own.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = own.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0)))
	}
	return m.Run()
}

func program(name string) string { return filepath.Join(os.Getenv(programs), name) }
