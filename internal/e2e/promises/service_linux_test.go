package promises_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/e2e/shipyard"
)

// unitEnv is what the unit that ship service install writes gives its ship.
func (f *fleet) unitEnv(t *testing.T) []string {
	t.Helper()
	unit := f.must(t, "service", "install", "--dry-run")
	for _, line := range []string{"KillMode=process", "Type=notify", "NotifyAccess=main", `ExecStart=":` + shipyard.Built("ship") + `" serve --atlas "` + f.root + `"`} {
		if !strings.Contains(unit, line+"\n") {
			t.Errorf("the unit lacks %s:\n%s", line, unit)
		}
	}
	env := []string{"HOME=" + f.dir, "LANG=C.UTF-8"}
	for _, found := range regexp.MustCompile(`(?m)^Environment="(.*)"$`).FindAllStringSubmatch(unit, -1) {
		env = append(env, found[1])
	}
	return env
}

// serviceManager is the far end of NOTIFY_SOCKET.
func serviceManager(t *testing.T, f *fleet) (socket string, said chan string) {
	t.Helper()
	socket = filepath.Join(f.dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	said = make(chan string, 100)
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			said <- string(buf[:n])
		}
	}()
	return socket, said
}

// A ship that systemd runs tells it when it serves, and when it ends. What systemd then does to the
// unit by KillMode=process, a SIGTERM to the main process and to no other, is done here.
func TestARestartOfTheUnitKeepsTheSessionsAndTheirTokens(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	socket, said := serviceManager(t, f)
	env := append(f.unitEnv(t), "NOTIFY_SOCKET="+socket, "INVOCATION_ID=0123", "JOURNAL_STREAM=9:99")
	f.serve(t, env...)
	if got := within(t, said, "the start"); got != "READY=1" {
		t.Errorf("the ship said %q when it served, want READY=1", got)
	}
	f.activate(t, "one")
	a := f.harness(t, "one")
	a.register(t, "as it was")
	tok, pane := f.token(t, "one"), f.pane(t, "one")
	for name := range f.sessionEnv(t, "one") {
		if name == "NOTIFY_SOCKET" || name == "INVOCATION_ID" || name == "JOURNAL_STREAM" {
			t.Errorf("%s of the unit reaches the session", name)
		}
	}
	f.daemon.Signal(t, syscall.SIGHUP)
	for _, want := range []string{"RELOADING=1", "READY=1"} {
		if got := within(t, said, "a reload"); got != want {
			t.Errorf("the ship said %q when it read atlas.json again, want %s", got, want)
		}
	}
	for range 3 {
		f.daemon.Stop(t)
		if got := within(t, said, "the end"); got != "STOPPING=1" {
			t.Errorf("the ship said %q when it ended, want STOPPING=1", got)
		}
		if err := syscall.Kill(pane, 0); err != nil {
			t.Fatalf("the agent's process: %v", err)
		}
		f.serve(t, env...)
		if got := within(t, said, "the next start"); got != "READY=1" {
			t.Errorf("the next ship said %q, want READY=1", got)
		}
		if now := f.token(t, "one"); now != tok || f.pane(t, "one") != pane || f.state(t, "one") != "active" {
			t.Errorf("after the restart the session has another token or pane, or is %q", f.state(t, "one"))
		}
		if got := a.call(t, "agent_status_get", "{}").ok(t); !strings.Contains(got, `"as it was"`) {
			t.Errorf("after the restart the running adapter reads %s", got)
		}
	}
}

// A ship that crashes is started again by Restart=on-failure; one that cannot start says so by its
// status, so that the unit fails and does not start over without end.
func TestAServiceThatCannotStartFails(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	socket, said := serviceManager(t, f)
	env := append(f.unitEnv(t), "NOTIFY_SOCKET="+socket)
	if err := os.WriteFile(filepath.Join(f.root, "atlas.json"), []byte(`{"fleet":1,"port":-1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := f.start(t, env...)
	within(t, d.Ended(), "the end of a ship without a good atlas.json")
	if d.State().ExitCode() != 1 || len(said) > 0 {
		t.Errorf("the ship ended with %s and told its manager %d times, want 1 and never", d.State(), len(said))
	}
}
