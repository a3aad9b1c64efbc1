package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/workspace"
)

func TestActivationGivesTheSessionItsTokenAndAddress(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/é b")
	out := filepath.Join(f.home, "env")
	got, err := f.Activate(t.Context(), w, workspace.ActivateOptions{Command: dumping(out)})
	if err != nil {
		t.Fatalf("Activate: %v", err)
	}
	if !got.Active || got.InactiveReason != nil || got.Agent != nil || got.Observed.MCPSeen == nil || *got.Observed.MCPSeen {
		t.Errorf("Activate = %+v, want active, no agent and no client yet", got)
	}
	env := strings.Split(read(t, out), "\x00")
	tok := f.sessionToken(t, w)
	for _, want := range []string{
		"FLEET_AGENT_MCP_TOKEN=" + tok.Reveal(), "FLEET_AGENT_MCP_URL=http://127.0.0.1:4711/workspaces/r/%C3%A9%20b/mcp",
		"TMUX_TMPDIR=" + atlas.TempSockets(f.root, w), "LANG=C.UTF-8", "PWD=" + w.Dir(f.root),
	} {
		if !slices.Contains(env, want) {
			t.Errorf("the process's environment lacks %.40s…", want)
		}
	}
	if !f.opens(tok, w) || !f.Active(w) {
		t.Error("the session's token does not open its workspace")
	}
	if got := f.byHand(t, "show-options", "-qv", "-t", "="+w.SessionName()+":", "@fleet_workspace"); got != "r/%C3%A9%20b" {
		t.Errorf("the session is tagged %q", got)
	}
	if got := f.events.of(w); got != "activated" {
		t.Errorf("events: %s", got)
	}
}

func TestOnlyNamedVariablesReachThePane(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.env = append(f.env, "GITHUB_TOKEN=forge", "CLAUDECODE=1", "FLEET_X=1", "API_KEY=daemon", "TZ=UTC")
	f.lookup = map[string]string{"API_KEY": "from the daemon", "BOTH": "daemon's", "GITHUB_TOKEN": "forge"}
	f.atlas.Env = []string{"API_KEY", "BOTH", "NOT_SET", "GITHUB_TOKEN"}
	f.tmux("kill-server")
	f.open(t)
	w := f.checkout(t, "r/a")
	out := filepath.Join(f.home, "env")
	f.activate(t, w, workspace.ActivateOptions{
		Env: map[string]string{"BOTH": "caller's", "NAMED": "a\n  b' \"$x#{pid}"}, Command: dumping(out),
	})
	env := strings.Split(read(t, out), "\x00")
	for _, want := range []string{"API_KEY=from the daemon", "BOTH=caller's", "NAMED=a\n  b' \"$x#{pid}", "TZ=UTC"} {
		if !slices.Contains(env, want) {
			t.Errorf("the pane's environment lacks %q", want)
		}
	}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"GITHUB_TOKEN", "CLAUDECODE", "FLEET_X", "NOT_SET", "TMUX", "TMUX_PANE"}, name) {
			t.Errorf("the pane's environment holds %s", name)
		}
	}
}

func TestTheCommandGetsItsWordsExactly(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	out := filepath.Join(f.home, "words")
	words := []string{"", " ", "a b", "it's", `"`, "$HOME", "#{pid}", "#[x]", ";", "a;", "é", "\n  x", "-n", "--", "~", `\`}
	f.activate(t, w, workspace.ActivateOptions{
		Command: append([]string{"sh", "-c", `printf '%s\0' "$@" > "$0.x"; mv "$0.x" "$0"; exec sleep 60`, out}, words...),
	})
	if got := strings.Split(strings.TrimSuffix(read(t, out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("the command got %q, want %q", got, words)
	}
}

func TestARefusedActivationLeavesNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		id     string
		o      workspace.ActivateOptions
		code   api.Code
		reason string
		hint   string
	}{
		"no workspace":         {"r/none", workspace.ActivateOptions{}, api.NotFound, "no_workspace", "ship create r/none"},
		"no workspace, quoted": {"r/no ne", workspace.ActivateOptions{}, api.NotFound, "no_workspace", "ship create 'r/no ne'"},
		"our own variable":     {"r/a", workspace.ActivateOptions{Env: map[string]string{"FLEET_AGENT_MCP_TOKEN": "x"}}, api.Invalid, "bad_env", ""},
		"a forge's token":      {"r/a", workspace.ActivateOptions{Env: map[string]string{"GH_TOKEN": "x"}}, api.Invalid, "bad_env", ""},
		"a harness's identity": {"r/a", workspace.ActivateOptions{Env: map[string]string{"CLAUDECODE": "1"}}, api.Invalid, "bad_env", ""},
		"the way to tmux":      {"r/a", workspace.ActivateOptions{Env: map[string]string{"TMUX_TMPDIR": "/tmp"}}, api.Invalid, "bad_env", ""},
		"no variable's name":   {"r/a", workspace.ActivateOptions{Env: map[string]string{"A B": "1"}}, api.Invalid, "bad_env", ""},
		"a value with NUL":     {"r/a", workspace.ActivateOptions{Env: map[string]string{"A": "x\x00"}}, api.Invalid, "bad_env", ""},
		"a value not UTF-8":    {"r/a", workspace.ActivateOptions{Env: map[string]string{"A": "\xff"}}, api.Invalid, "bad_env", ""},
		"a word not UTF-8":     {"r/a", workspace.ActivateOptions{Command: []string{"echo", "\xff"}}, api.Invalid, "bad_command", ""},
		"no such command":      {"r/a", workspace.ActivateOptions{Command: []string{"no-such-command"}}, api.Invalid, "bad_command", "PATH"},
		"no such file":         {"r/a", workspace.ActivateOptions{Command: []string{"./none"}}, api.Invalid, "bad_command", ""},
		"a directory":          {"r/a", workspace.ActivateOptions{Command: []string{"/tmp"}}, api.Invalid, "bad_command", ""},
		"an option":            {"r/a", workspace.ActivateOptions{Command: []string{"-c"}}, api.Invalid, "bad_command", ""},
		"an empty command":     {"r/a", workspace.ActivateOptions{Command: []string{""}}, api.Invalid, "bad_command", ""},
	}
	f := newFleet(t)
	f.checkout(t, "r/a")
	for what, c := range cases {
		w := id(t, c.id)
		_, err := f.Activate(t.Context(), w, c.o)
		wantError(t, what, err, c.code, c.reason, c.hint)
		if f.Active(w) || f.tokens.Len() != 0 {
			t.Errorf("%s: active %t, %d tokens valid; want nothing", what, f.Active(w), f.tokens.Len())
		}
	}
	if out, _ := f.tmux("list-sessions"); out != "" {
		t.Errorf("sessions are left: %s", out)
	}
	if len(f.events.events) > 0 {
		t.Errorf("events: %v", f.events.events)
	}
}

func TestAnActiveWorkspaceIsNotActivatedTwice(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a b")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = f.Activate(context.Background(), w, workspace.ActivateOptions{}) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		wantError(t, "a second activation", err, api.Conflict, "active", "ship attach 'r/a b'")
	}
	if made != 1 || f.tokens.Len() != 1 || !f.opens(f.sessionToken(t, w), w) {
		t.Errorf("%d activations at once made it, %d tokens are valid; want one that the session holds", made, f.tokens.Len())
	}
}

// failing is a tmux that does everything but one thing.
func failing(t *testing.T, f *fleet, script string) {
	t.Helper()
	dir := filepath.Join(f.home, "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	body := "#!/bin/sh\nPATH=" + os.Getenv("PATH") + "\n" + script + "\nexec tmux \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	f.open(t)
}

func TestABrokenActivationLeavesNothing(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	for what, script := range map[string]string{
		// It waits until the session is gone. tmux 3.3a forgets one process in five on a busy machine
		// until the next one ends, hence the signal.
		"the command ends at once":       `case "$*" in *list-panes\ -s*) while tmux "$@"; do kill -CHLD "$(tmux -N -S "$4" display-message -p "#{pid}")"; done;; esac`,
		"the session cannot be made":     `case "$*" in *source-file*) in=$(cat); case "$in" in *new-session*) exit 1;; *) printf '%s\n' "$in" | exec tmux "$@";; esac;; esac`,
		"it is made and the rest fails":  `case "$*" in *source-file*) in=$(cat); case "$in" in *new-session*) printf '%s\n' "$in" | tmux "$@"; exit 1;; *) printf '%s\n' "$in" | exec tmux "$@";; esac;; esac`,
		"it cannot be looked at":         `case "$*" in *list-panes\ -s*) exit 1;; esac`,
		"the directory vanishes at once": `case "$*" in *list-panes\ -s*) rm -rf "$HOME"/../atlas/r/a;; esac`,
	} {
		t.Run(what, func(t *testing.T) {
			f := newFleet(t)
			w := f.checkout(t, "r/a")
			failing(t, f, script)
			_, err := f.Activate(t.Context(), w, workspace.ActivateOptions{Command: []string{"sleep", "0.1"}})
			if err == nil {
				t.Error("Activate did not fail")
			}
			if strings.Contains(what, "ends at once") {
				wantError(t, "Activate", err, api.Unavailable, "command_ended", "ship activate r/a")
			}
			if out := f.byHand(t, "list-sessions"); out != "" {
				t.Errorf("a session is left: %q", out)
			}
			if f.Active(w) || f.tokens.Len() != 0 || f.events.of(w) != "" {
				t.Errorf("active %t, %d tokens, events %q; want nothing", f.Active(w), f.tokens.Len(), f.events.of(w))
			}
		})
	}
}

func TestDeactivationEndsTokenAndSession(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w, other := f.checkout(t, "r/a"), f.checkout(t, "r/ab")
	f.activate(t, w, workspace.ActivateOptions{})
	f.activate(t, other, workspace.ActivateOptions{})
	tok := f.sessionToken(t, w)
	if _, err := f.Agents().Init(t.Context(), w, "m", "p", "h"); err != nil {
		t.Fatal(err)
	}
	got, err := f.Deactivate(t.Context(), w)
	if err != nil || got.Active || *got.InactiveReason != api.InactiveCommand || got.Agent != nil || got.Observed != (api.Observed{}) {
		t.Errorf("Deactivate = %+v, %v", got, err)
	}
	if f.opens(tok, w) || f.Active(w) || f.Agents().Get(w) != nil || !f.inactive.has(w) {
		t.Error("something of the session outlived it")
	}
	if _, err := f.tmux("has-session", "-t", "="+w.SessionName()); err == nil {
		t.Error("the session is still there")
	}
	if !f.Active(other) || !f.opens(f.sessionToken(t, other), other) {
		t.Error("the neighbour lost its session or token")
	}
	_, err = f.Deactivate(t.Context(), w)
	wantError(t, "a second Deactivate", err, api.Conflict, "inactive", "ship activate r/a")
	if got := f.events.of(w); got != "activated, agent.init, deactivated command" {
		t.Errorf("events: %s", got)
	}
	f.activate(t, w, workspace.ActivateOptions{})
	if f.opens(tok, w) {
		t.Error("the next session's activation made the old token valid again")
	}
}

func TestRotationReplacesTheToken(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	wantError(t, "Rotate before Activate", f.Rotate(t.Context(), w), api.Conflict, "inactive", "ship activate r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	old := f.sessionToken(t, w)
	if err := f.Rotate(t.Context(), w); err != nil {
		t.Fatalf("Rotate: %v", err)
	}
	if next := f.sessionToken(t, w); f.opens(old, w) || !f.opens(next, w) || f.tokens.Len() != 1 {
		t.Errorf("after Rotate the old token opens: %t, the session's: %t, of %d", f.opens(old, w), f.opens(next, w), f.tokens.Len())
	}
	if got := f.events.of(w); got != "activated, token.rotated" {
		t.Errorf("events: %s", got)
	}
}

func TestAFailedRotationLeavesTheOldToken(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	failing(t, f, `case "$*" in *source-file*) in=$(cat); case "$in" in *MCP_TOKEN*) exit 1;; *) printf '%s\n' "$in" | exec tmux "$@";; esac;; esac`)
	old := f.sessionToken(t, w)
	wantError(t, "Rotate", f.Rotate(t.Context(), w), api.Unavailable, "tmux_failed", "")
	if !f.opens(old, w) || f.sessionToken(t, w).Reveal() != old.Reveal() || f.tokens.Len() != 1 {
		t.Error("a failed Rotate changed which tokens are valid")
	}
}

// TestNoTokenStandsInAnArgumentList looks at all processes all the time, and at tmux's, which live too
// short to be sure to be seen, through one in front of it that writes its arguments down.
func TestNoTokenStandsInAnArgumentList(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc on this system")
	}
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	calls := filepath.Join(f.home, "calls")
	failing(t, f, `printf '%s\n' "$*" >>`+calls)
	watch := process.WatchArguments(t, regexp.MustCompile(`fleet_[A-Za-z0-9_-]{43}|sesame-77`))
	var tokens []string
	for range 5 {
		f.activate(t, w, workspace.ActivateOptions{Env: map[string]string{"SECRET": "sesame-77"}})
		tokens = append(tokens, f.sessionToken(t, w).Reveal())
		if err := f.Rotate(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, f.sessionToken(t, w).Reveal())
		if _, err := f.Deactivate(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	seen, recorded := watch.Stop(), strings.Join(lines(calls), "\n")
	if !strings.Contains(recorded, "source-file") {
		t.Fatalf("the recorded arguments of tmux are %q, want source-file among them", recorded)
	}
	for _, secret := range append(tokens, "sesame-77") {
		// Others on the machine may have tokens of their own in their arguments.
		if where := seen[secret]; where != "" || strings.Contains(recorded, secret) {
			t.Errorf("an argument list holds a secret: %q, or among tmux's %q", where, recorded)
		}
	}
}

func TestTheSessionsTextCanBeRead(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	_, err := f.Capture(t.Context(), w, 5)
	wantError(t, "Capture before Activate", err, api.Conflict, "inactive", "ship activate r/a")
	f.activate(t, w, workspace.ActivateOptions{Command: []string{"sh", "-c", "seq 1 50; echo 'é end'; exec sleep 60"}})
	eventually(t, "the text is there", func() bool {
		text, err := f.Capture(t.Context(), w, 2)
		return err == nil && text == "50\né end\n"
	})
	// Another window of the operator's is not what the agent's text is.
	f.byHand(t, "new-window", "-t", "="+w.SessionName()+":")
	if text, err := f.Capture(t.Context(), w, 1); err != nil || text != "é end\n" {
		t.Errorf("Capture with a second window = %q, %v", text, err)
	}
}
