// Package process holds what tests of other programs have in common, whichever programs those are:
// how many run side by side, how a test gets a process of its own, and who sees every argument list
// of the machine.
package process

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// Overlap is for the TestMain of a package whose tests wait for other processes most of the time:
// it has three times as many of them run side by side as go test would. A -parallel of the command
// line's own stands.
func Overlap() {
	flag.Parse()
	if own := flag.Lookup("test.parallel"); own.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = own.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0)))
	}
}

// alone names, in the environment of a process that Alone started, the test it is for.
const alone = "PROCESS_TEST_ALONE"

// Alone has the test that calls it, or the subtest, run in a process of its own, which may change
// its environment, beside the other parallel tests of this one. It returns true there; here it
// returns false once that process has ended and its outcome is t's, and the test has to return.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) == t.Name() {
		return true
	}
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range strings.Split(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	c := exec.Command(program, "-test.run="+strings.Join(names, "/"), "-test.v", "-test.timeout=2m")
	c.Env = append(os.Environ(), alone+"="+t.Name(), shipyard.QuickEnd)
	out, err := c.CombinedOutput()
	switch said := string(out); {
	case err == nil && strings.Contains(said, "--- SKIP: "+t.Name()+" "):
		t.Skip(said)
	case err != nil || !strings.Contains(said, "--- PASS: "+t.Name()+" "):
		t.Errorf("in a process of its own: %v\n%s", err, said)
	}
	return false
}
