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

	"fleet/internal/e2e/shipyard"
)

// origin names the repository that every atlas clones. It is an environment variable of the test
// process, so that nothing here is a variable that tests could change.
const origin = "FAULTS_ORIGIN"

func TestMain(m *testing.M) {
	flag.Uint64("seed", 0, "run this one seed and no other")
	flag.String("seeds", "1-50", "run the seeds `A-B`")
	flag.Int("side", 6, "run so many seeds side by side")
	flag.Parse()
	os.Exit(shipyard.Run(m, build))
}

// build makes the programs, and the repository.
func build(dir string) error {
	repository := filepath.Join(dir, "widgets")
	for _, command := range [][]string{
		{"git", "init", "-q", "-b", "main", repository},
		{"git", "-C", repository, "-c", "user.name=faults", "-c", "user.email=faults@localhost", "commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%q: %w\n%s", command, err, out)
		}
	}
	os.Setenv(origin, repository)
	return shipyard.Build(dir)
}

func program(name string) string { return shipyard.Built(name) }

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
