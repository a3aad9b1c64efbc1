package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/workspace"
)

func TestTheNextShipServesOnWithTheSameTokensAndStatuses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, plain := f.checkout(t, "r/é b"), f.checkout(t, "r/plain")
	f.activate(t, w, workspace.ActivateOptions{})
	f.activate(t, plain, workspace.ActivateOptions{})
	if _, err := f.Agents().Init(t.Context(), w, "m", "p", "h"); err != nil {
		t.Fatal(err)
	}
	said, err := f.Agents().Report(t.Context(), w, api.Awaiting, `it's "quoted" #{x} #(y) $HOME | ~ \ ; é 😀`)
	if err != nil {
		t.Fatal(err)
	}
	tok := f.sessionToken(t, w)
	f.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.home} // no locale, no shell
	f.port = 4999
	f.open(t)
	got := f.get(t, w)
	if !got.Active || got.Agent == nil || *got.Agent != *said {
		t.Errorf("after a restart: %+v, agent %+v; want active, agent %+v", got, got.Agent, said)
	}
	if !f.opens(tok, w) || f.get(t, plain).Agent != nil || f.tokens.Len() != 2 {
		t.Error("after a restart the tokens are not the same")
	}
	if got := f.byHand(t, "show-environment", "-t", "="+w.SessionName(), "FLEET_AGENT_MCP_URL"); got != "FLEET_AGENT_MCP_URL=http://127.0.0.1:4999/workspaces/r/%C3%A9%20b/mcp" {
		t.Errorf("the session has %s after a start on another port", got)
	}
	if got := f.events.of(w); !strings.HasSuffix(got, "agent.status, adopted") {
		t.Errorf("events: %s", got)
	}
	if _, err := f.Deactivate(t.Context(), w); err != nil {
		t.Errorf("Deactivate of an adopted session: %v", err)
	}
}

func TestThatAClientCameOutlivesTheShip(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, other := f.checkout(t, "r/a"), f.checkout(t, "r/b")
	f.activate(t, w, workspace.ActivateOptions{})
	f.activate(t, other, workspace.ActivateOptions{})
	f.run(t)
	f.MarkSeen(t.Context(), w)
	if o := f.get(t, w).Observed; !*o.MCPSeen || o.LastCallAt == nil {
		t.Errorf("after MarkSeen: %+v", o)
	}
	eventually(t, "@fleet_seen is written", func() bool {
		return f.byHand(t, "show-options", "-qv", "-t", "="+w.SessionName()+":", "@fleet_seen") != ""
	})
	f.open(t)
	if o := f.get(t, w).Observed; o.MCPSeen == nil || !*o.MCPSeen || o.LastCallAt != nil {
		t.Errorf("after a restart: %+v, want seen, with the time of the last call unknown", o)
	}
	if o := f.get(t, other).Observed; o.MCPSeen == nil || *o.MCPSeen {
		t.Errorf("the neighbour: %+v, want not seen", o)
	}
}

func TestASessionThatAnyoneMadeForAWorkspaceIsAdopted(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, later := f.checkout(t, "r/a"), f.checkout(t, "r/later")
	f.byHand(t, "new-session", "-d", "-s", w.SessionName())
	f.open(t)
	if !f.Active(w) || !f.opens(f.sessionToken(t, w), w) {
		t.Fatal("a session without tag and token was not adopted at the start")
	}
	if got := f.byHand(t, "show-options", "-qv", "-t", "="+w.SessionName()+":", "@fleet_workspace"); got != "r/a" {
		t.Errorf("its tag is now %q", got)
	}
	f.run(t)
	f.byHand(t, "new-session", "-d", "-s", later.SessionName(), "-e", "FLEET_AGENT_MCP_TOKEN=nonsense")
	eventually(t, "a session made later is adopted", func() bool { return f.Active(later) })
	eventually(t, "it gets a token", func() bool {
		out, err := f.tmux("show-environment", "-t", "="+later.SessionName(), "FLEET_AGENT_MCP_TOKEN")
		return err == nil && !strings.Contains(out, "nonsense")
	})
	if !f.opens(f.sessionToken(t, later), later) || f.events.of(later) != "adopted" {
		t.Errorf("events: %s", f.events.of(later))
	}
}

func TestOtherSessionsAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	stranger := id(t, "r/never-was")
	sessions := []string{"mine", stranger.SessionName(), "ws-short", w.SessionName() + "0"}
	for _, s := range sessions {
		f.byHand(t, "new-session", "-d", "-s", s, "-e", "FLEET_AGENT_MCP_TOKEN=fleet_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
		// A tag proves nothing unless the name is its hash.
		if s != stranger.SessionName() {
			f.byHand(t, "set-option", "-t", "="+s+":", "@fleet_workspace", "r/a")
		}
	}
	before := f.byHand(t, "list-panes", "-a", "-F", "#{session_name} #{pane_pid} #{@fleet_workspace}")
	f.open(t)
	f.run(t)
	f.activate(t, w, workspace.ActivateOptions{})
	f.MarkSeen(t.Context(), w)
	eventually(t, "Run has worked", func() bool {
		return f.byHand(t, "show-options", "-qv", "-t", "="+w.SessionName()+":", "@fleet_seen") != ""
	})
	if _, err := f.Deactivate(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if after := f.byHand(t, "list-panes", "-a", "-F", "#{session_name} #{pane_pid} #{@fleet_workspace}"); after != before {
		t.Errorf("other sessions were\n%s\nand are\n%s", before, after)
	}
	if f.tokens.Len() != 0 {
		t.Error("a stranger's token opens something")
	}
}

func TestATokenThatStandsInTwoSessionsOpensNeither(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, thief := f.checkout(t, "r/a"), f.checkout(t, "r/thief")
	f.activate(t, w, workspace.ActivateOptions{})
	f.activate(t, thief, workspace.ActivateOptions{})
	tok := f.sessionToken(t, w)
	f.byHand(t, "set-environment", "-t", "="+thief.SessionName(), "FLEET_AGENT_MCP_TOKEN", tok.Reveal())
	f.open(t)
	if f.tokens.Len() != 0 || f.opens(tok, w) || f.opens(tok, thief) {
		t.Error("a token seen twice opens something")
	}
	for _, v := range []atlas.ID{w, thief} {
		if got := f.get(t, v); !got.Active || got.InactiveReason == nil || *got.InactiveReason != api.InactiveTokenConflict {
			t.Errorf("%s is shown as %+v, want a token conflict", v, got)
		}
	}
	if err := f.Rotate(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if got := f.get(t, w); got.InactiveReason != nil || !f.opens(f.sessionToken(t, w), w) || f.opens(tok, thief) {
		t.Errorf("after Rotate: %+v", got)
	}
}

func TestASpoiledRecordIsPassedOver(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	for _, record := range []string{"{", `{"repo":"r","workspace":"other","state":"idle"}`, "#(touch x)"} {
		f.byHand(t, "set-option", "-t", "="+w.SessionName()+":", "@fleet_agent", record)
		f.open(t)
		if got := f.get(t, w); !got.Active || got.Agent != nil {
			t.Errorf("with the record %q: %+v, want active without an agent", record, got)
		}
	}
}

func TestADirectoryRemovedUnderASessionIsTold(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	removeAll(t, w.Dir(f.root))
	for range 2 {
		list, err := f.List(t.Context())
		if err != nil || len(list) != 1 || !list[0].Active || list[0].InactiveReason == nil ||
			*list[0].InactiveReason != api.InactiveDirectoryGone || list[0].Branch != nil {
			t.Errorf("List = %+v, %v; want the session, with its directory gone", list, err)
		}
		f.open(t) // and the next ship tells the same
	}
	if _, err := f.Deactivate(t.Context(), w); err != nil || f.Active(w) || f.tokens.Len() != 0 {
		t.Errorf("Deactivate: %v, active %t, %d tokens", err, f.Active(w), f.tokens.Len())
	}
	_, err := f.Deactivate(t.Context(), w)
	wantError(t, "Deactivate of what is gone altogether", err, api.NotFound, "no_workspace", "ship create r/a")
}

func TestLeftoversOfACutOffCreateAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.checkout(t, "r/a")
	left := []string{filepath.Join(f.root, "r", ".create-123"), filepath.Join(f.root, "r", ".remove-9", "it")}
	for _, dir := range left {
		f.git(t, f.root, "clone", "-q", f.origin, dir)
	}
	list, err := f.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("List = %+v, %v; want only the real workspace", list, err)
	}
	f.open(t)
	if names, _ := filepath.Glob(filepath.Join(f.root, "r", ".*")); len(names) > 0 {
		t.Errorf("still there: %q", names)
	}
}

func TestWithoutTmuxOpenSaysHowToInstallIt(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\necho tmux 3.1c\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	_, err := workspace.Open(t.Context(), f.config())
	wantError(t, "Open with tmux 3.1c", err, api.Unavailable, "tmux_missing", "apt-get install tmux")
}

// TestAdoptionTakesTheSameCallsForManySessions counts what is executed, since a call of tmux for
// each of 200 sessions takes a second.
func TestAdoptionTakesTheSameCallsForManySessions(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	calls := map[int]string{}
	for _, n := range []int{1, 12} {
		f := newFleet(t)
		for i := range n {
			f.activate(t, f.checkout(t, fmt.Sprintf("r/w%d", i)), workspace.ActivateOptions{})
		}
		log := filepath.Join(f.home, "calls")
		failing(t, f, `echo x >> `+log)
		if f.tokens.Len() != n {
			t.Fatalf("%d of %d sessions adopted", f.tokens.Len(), n)
		}
		raw, err := exec.Command("grep", "-c", "x", log).Output()
		if err != nil {
			t.Fatal(err)
		}
		calls[n] = strings.TrimSpace(string(raw))
	}
	if calls[1] != calls[12] {
		t.Errorf("adoption took %s calls of tmux for one session and %s for twelve", calls[1], calls[12])
	}
}
