//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// serve starts the ship, with env on top of what every command gets. The last one that was
// started ends with the test, and so does its tmux.
func (f *fleet) serve(t *testing.T, env ...string) {
	t.Helper()
	c := exec.Command(shipyard.Built("ship"), "--atlas", f.atlas, "serve")
	c.Env = slices.Concat(f.env, env)
	again := f.daemon != nil
	f.daemon = shipyard.Launch(t, c)
	if !again {
		t.Cleanup(func() {
			if f.daemon.Over() {
				t.Error("the ship was gone before the end")
			}
			f.daemon.Stop(t)
			shipyard.EndTmux(t, filepath.Join(f.sockets(t), "tmux.sock"))
		})
	}
	f.daemon.AwaitReady(t)
}
