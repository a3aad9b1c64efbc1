// Package promises_test holds Fleet to what it promises its users, one claim a test: the real
// ship and agent-mcp, a real tmux on the atlas's own socket and a real git. No harness and no
// model take part; they are the far end, and the tests stand in for it.
package promises_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"fleet/internal/e2e/shipyard"
)

func TestMain(m *testing.M) {
	// The tests wait for other processes most of the time.
	flag.Parse()
	if own := flag.Lookup("test.parallel"); own.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = own.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(shipyard.Run(m, nil))
}
