//go:build e2e && linux

// Package faults runs ship, ship bridge serve and agent-mcp together, and breaks them at points
// that a seed chooses: processes are killed and stopped, connections cut, disks filled, the forge
// answers wrongly. Clients keep account of what they asked and were answered, and afterwards
// nothing may be lost, done twice, left over or given away. Only the forge is a stand-in.
package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What TestMain hands to the tests. They are environment variables of the test process, so that
// nothing here is a variable that tests could change.
const (
	programs = "FAULTS_PROGRAMS" // the folder of the two programs
	origin   = "FAULTS_ORIGIN"   // the repository that every atlas clones
)

func TestMain(m *testing.M) {
	flag.Uint64("seed", 0, "run this one seed and no other")
	flag.String("seeds", "1-50", "run the seeds `A-B`")
	flag.Int("side", 6, "run so many seeds side by side")
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ffb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	repository := filepath.Join(dir, "widgets")
	for _, command := range [][]string{
		{"go", "build", "-o", dir + string(filepath.Separator), "fleet/cmd/ship", "fleet/cmd/agent-mcp"},
		{"git", "init", "-q", "-b", "main", repository},
		{"git", "-C", repository, "-c", "user.name=faults", "-c", "user.email=faults@localhost", "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%q: %v\n%s", command, err, out)
			return 1
		}
	}
	// What the developer's own Fleet set must not reach the programs.
	for _, name := range []string{"FLEET_AGENT_MCP_TOKEN", "FLEET_AGENT_MCP_URL", "FLEET_ATLAS", "TMUX", "TMUX_PANE"} {
		os.Unsetenv(name)
	}
	os.Setenv(programs, dir)
	os.Setenv(origin, repository)
	flag.Parse()
	return m.Run()
}

func program(name string) string { return filepath.Join(os.Getenv(programs), name) }

// chosen gives the seeds to run, and how many of them side by side.
func chosen(t *testing.T) (seeds []uint64, side int) {
	t.Helper()
	value := func(name string) string { return flag.Lookup(name).Value.String() }
	side, _ = strconv.Atoi(value("side"))
	if one, _ := strconv.ParseUint(value("seed"), 10, 64); one != 0 {
		return []uint64{one}, 1
	}
	first, last, ok := strings.Cut(value("seeds"), "-")
	from, err := strconv.ParseUint(first, 10, 64)
	to, errTo := strconv.ParseUint(last, 10, 64)
	if !ok || err != nil || errTo != nil || from == 0 || to < from || side < 1 {
		t.Fatalf("-seeds %s -side %d: want -seeds A-B with 1 <= A <= B, and at least one side by side", value("seeds"), side)
	}
	for seed := from; seed <= to; seed++ {
		seeds = append(seeds, seed)
	}
	return seeds, side
}
