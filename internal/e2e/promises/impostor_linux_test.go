package promises_test

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestAnotherUsersListenerGetsNoToken lets somebody else take the port while the ship is away.
func TestAnotherUsersListenerGetsNoToken(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a socket in another user's name")
	}
	t.Parallel()
	f := serving(t)
	f.activate(t, "one")
	port, envs := f.port(t), map[string][]string{"full": f.paneEnv(t, "one"), "scrubbed": scrubbed(f)}
	f.daemon.Stop(t)
	ours := listen(t, port)
	a := startAdapter(t, f.path("one"), envs["full"])
	a.open(t)
	if !strings.Contains(ours.heard.String(), "Bearer fleet_") {
		t.Fatalf("a listener of our own user heard %q, want the token: this test sees nothing", ours.heard)
	}
	_ = ours.listener.Close()
	theirs := pose(t, listenAs(t, 65534, port))
	for whose, env := range envs {
		a := startAdapter(t, f.path("one"), env)
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			call("2", "agent_status_get", "{}"),
		} {
			if m := a.ask(t, line); m.Error == nil || !strings.Contains(m.Error.Message, "user 65534") {
				t.Errorf("%s environment: %s = %s, want an error that names the user 65534", whose, line, m.raw)
			}
		}
		a.end(t)
	}
	checkUnheard(t, theirs)
}

// listenAs opens a port in another user's name: a socket belongs to the file-system user of the
// thread that makes it.
func listenAs(t *testing.T, uid, port int) net.Listener {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set := func(uid int) { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0) } // never fails; see setfsuid(2)
	set(uid)
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	set(os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	return l
}
