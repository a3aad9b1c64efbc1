package promises_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// unharmed checks that a workspace and its agent are as they were.
func (f *fleet) unharmed(t *testing.T, name, token string) {
	t.Helper()
	if got := f.state(t, name); got != "active" {
		t.Errorf("ship ls shows r/%s as %q, want active", name, got)
	}
	r := f.http(t, ask{path: mcpPath(name), token: token, body: call("1", "agent_status_get", "{}")})
	if r.status != http.StatusOK || !strings.Contains(r.body, "unharmed") {
		t.Errorf("agent_status_get of r/%s = %d %s, want the status from before", name, r.status, r.body)
	}
}

// populated is a serving fleet with workspaces in each of which an agent reported "unharmed". It
// gives their tokens.
func populated(t *testing.T, names ...string) (*fleet, map[string]string) {
	t.Helper()
	f := serving(t)
	return f, f.populate(t, names...)
}

func (f *fleet) populate(t *testing.T, names ...string) map[string]string {
	t.Helper()
	f.activate(t, names...)
	tokens := map[string]string{}
	for _, name := range names {
		tokens[name] = f.token(t, name)
		f.must(t, "call", "r/"+name, "agent_init", `{"model":"m","provider":"p","harness":"h"}`)
		f.must(t, "call", "r/"+name, "agent_status", `{"state":"building","description":"unharmed"}`)
	}
	return tokens
}

func TestADirectoryThatIsDeletedUnderItsSessionShows(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one", "two")
	if err := os.RemoveAll(f.path("one")); err != nil {
		t.Fatal(err)
	}
	f.becomes(t, "one", "active: directory_gone")
	if out := f.must(t, "ls"); !strings.Contains(out, "r/one") {
		t.Errorf("ship ls = %q, want r/one in it", out)
	}
	f.refused(t, []string{"activate", "r/one"}, "next:")
	f.unharmed(t, "two", tokens["two"])
	f.daemon.Kill(t)
	f.serve(t)
	f.becomes(t, "one", "active: directory_gone")
	f.must(t, "deactivate", "r/one")
	if got := f.state(t, "one"); got != "missing" {
		t.Errorf("after ship deactivate ship ls shows r/one as %q, want it missing", got)
	}
	if f.opens(t, "one", tokens["one"]) {
		t.Error("the token of a deactivated workspace without a directory opens something")
	}
	f.must(t, "create", "r/one")
	f.must(t, "activate", "r/one", "--", "sleep", "1000")
	f.becomes(t, "one", "active")
	f.unharmed(t, "two", tokens["two"])
}

func TestATakenPortIsAnErrorThatSaysWhatToDo(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			f, tokens := populated(t, "one")
			address := net.JoinHostPort(host, fmt.Sprint(f.port(t)))
			f.daemon.Stop(t)
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Skipf("this machine has no %s: %v", host, err)
			}
			defer l.Close()
			f.refused(t, []string{"serve"}, address, "atlas.json")
			f.refused(t, []string{"up"}, address, "atlas.json")
			f.refused(t, []string{"ls"}, "no ship serves")
			_ = l.Close()
			f.serve(t)
			f.unharmed(t, "one", tokens["one"])
		})
	}
}

func TestASecondShipOnTheSameAtlasDoesNotStart(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one")
	f.refused(t, []string{"serve"}, "another ship serves this atlas")
	f.unharmed(t, "one", tokens["one"])
	if f.daemon.Over() {
		t.Error("the first ship has ended")
	}
}

func TestTheOperatorsSocketComesBack(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one")
	if err := os.Remove(filepath.Join(atlas.StateDir(f.root), atlas.OperatorSocket)); err != nil {
		t.Fatal(err)
	}
	var last result
	if !shows(func() bool { last = f.ship(t, "ls"); return last.code == 0 }) {
		t.Fatalf("ship ls after ship.sock was removed = %d, %s", last.code, last.stderr)
	}
	f.unharmed(t, "one", tokens["one"])
}

func TestATmuxSocketThatIsRemovedCostsNoSession(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one", "two")
	pane := f.pane(t, "one")
	socket, server := f.tmuxServer(t)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() { // without its socket nothing else ends it
			_ = syscall.Kill(server, syscall.SIGTERM)
		}
	})
	if !shipyard.Poll(func() bool { _, err := os.Lstat(socket); return err == nil }) {
		t.Fatalf("tmux.sock does not come back; ship ls shows r/one as %q", f.state(t, "one"))
	}
	f.becomes(t, "one", "active")
	f.unharmed(t, "one", tokens["one"])
	f.unharmed(t, "two", tokens["two"])
	if now := f.pane(t, "one"); now != pane {
		t.Errorf("the pane's process is %d, was %d", now, pane)
	}
	if got := f.deactivations(t, "one"); len(got) > 0 {
		t.Errorf("workspace.deactivated was reported: %q", got)
	}
}

func TestAKilledTmuxServerLeavesEverythingInactive(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one", "two")
	f.tmux(t, "kill-server")
	for name, token := range tokens {
		f.becomes(t, name, "session_ended")
		if f.opens(t, name, token) {
			t.Errorf("the token of r/%s still opens it", name)
		}
		if got := f.deactivations(t, name); len(got) != 1 || got[0] != "session_ended" {
			t.Errorf("r/%s has workspace.deactivated for %q, want session_ended once", name, got)
		}
	}
	for name := range tokens {
		f.must(t, "activate", "r/"+name, "--", "sleep", "1000")
		f.becomes(t, name, "active")
	}
	if !f.opens(t, "one", f.token(t, "one")) || f.opens(t, "one", tokens["one"]) {
		t.Error("after the next activation the new token opens nothing, or the old one something")
	}
}

func TestACloneThatWantsAPasswordFailsWithoutAsking(t *testing.T) {
	t.Parallel()
	f, tokens := populated(t, "one")
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer forge.Close()
	f.must(t, "repo", "add", "private", forge.URL+"/acme/private.git", "--forge", "none")
	f.refused(t, []string{"create", "private/one"}, "credential", "next:")
	if left, err := os.ReadDir(filepath.Join(f.root, "private")); err == nil && len(left) > 0 {
		t.Errorf("the failed clone left %v", left)
	}
	if out := f.must(t, "ls", "--json"); strings.Contains(out, "private") {
		t.Errorf("ship ls shows the failed clone: %s", out)
	}
	f.unharmed(t, "one", tokens["one"])
	withPassword := strings.Replace(forge.URL, "http://", "http://ann:password-in-url@", 1)
	if r := f.ship(t, "repo", "add", "open", withPassword+"/acme/open.git", "--forge", "none"); r.code != 1 || strings.Contains(r.stderr, "password-in-url") {
		t.Errorf("ship repo add of a URL with a password = %d %q, want a refusal without it", r.code, r.stderr)
	}
}

func TestAMissingOrOldTmuxIsAnErrorThatSaysHowToInstallIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	bin := f.mkdir(t, "old")
	for _, version := range []string{"tmux 3.1c", "tmux 1.8", "rubbish"} {
		script := "#!/bin/sh\necho '" + version + "'\n"
		if err := os.WriteFile(filepath.Join(bin, "tmux"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"serve"}, {"up"}} {
			c := f.command(shipyard.Built("ship"), append([]string{"--atlas", f.root}, args...)...)
			c.Env = pathFirst(f.env, bin)
			checkRefusal(t, args, f.run(t, c), version, "3.2", "install tmux")
		}
	}
}
