// Package promises_test holds Fleet to what it promises its users, one claim a test: the real
// ship and agent-mcp, a real tmux on the atlas's own socket and a real git. No harness and no
// model take part; they are the far end, and the tests stand in for it.
package promises_test

import (
	"os"
	"testing"

	"fleet/internal/e2e/process"
	"fleet/internal/e2e/shipyard"
)

func TestMain(m *testing.M) {
	process.Overlap()
	os.Exit(shipyard.Run(m, nil))
}
