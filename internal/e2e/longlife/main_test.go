//go:build e2e

// Package longlife runs the real ship and agent-mcp for long, under load and through upgrades: no
// request may go unanswered or be answered twice, no resource may grow, and nobody may slow his
// neighbour. Times are compared with times of the same run, never with a clock's.
package longlife

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"fleet/internal/e2e/shipyard"
)

func TestMain(m *testing.M) {
	flag.Float64("minutes", 1, "let the long life last so many `minutes`")
	flag.Parse()
	os.Exit(shipyard.Run(m, build))
}

// build makes the folders "old" and "new" with one build of the two programs each, told apart by
// their version, and "counting" with a ship that tells its goroutines.
func build(dir string) error {
	for _, age := range []string{"old", "new"} {
		if err := shipyard.Build(filepath.Join(dir, age), "-ldflags", "-X fleet/internal/build.linked=v0-"+age); err != nil {
			return err
		}
	}
	return buildCounting(filepath.Join(dir, "counting"))
}

func minutes(t *testing.T) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(flag.Lookup("minutes").Value.String(), 64)
	if err != nil || n <= 0 || n > 600 {
		t.Fatalf("-minutes %v: want more than 0 and at most 600", n)
	}
	return n
}
