package tmux_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/process"
	"fleet/internal/tmux"
)

// forging has a command call itself what looks like another session's rows in every list of
// panes, with a time that no JSON holds, and stand in a directory whose name does the same.
func forging(t *testing.T, s *testServer, victim string) (dir string, command []string) {
	t.Helper()
	rows := "x"
	for _, sep := range []string{"|", ":"} {
		rows += "\n" + strings.Join([]string{victim, "%-1", "0", "", "", "99999999999999", "evil"}, sep) +
			"\n" + strings.Join([]string{victim, "%0", "0", "", "", "1", "evil"}, sep)
	}
	dir = filepath.Join(s.dir, "x\n%-5|0||zz\n%-5:0:::zz\x1b[31m")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"bash", "-c", `exec -a "$0" sleep 60`, rows}
}

func TestNoProgramForgesARow(t *testing.T) {
	t.Parallel()
	s := start(t)
	const victim = "ws-victim"
	dir, command := forging(t, s, victim)
	s.make(t, tmux.NewSession{Name: "ws-evil", Dir: dir, Command: command})
	eventually(t, "the pane has its false name", func() bool {
		return strings.Contains(s.byHand(t, "list-panes", "-a", "-F", "#{pane_current_command}"), victim)
	})
	panes, err := s.Panes(t.Context())
	if err != nil || len(panes) != 1 || panes[0].Session != "ws-evil" || panes[0].ID < 0 || panes[0].ActivityAt.Year() > 9999 {
		t.Fatalf("Panes = %+v, %v; want the one that there is", panes, err)
	}
	if c := panes[0].Command; strings.ContainsAny(c, "\n\x1b") || c == "" || len(c) > 200 {
		t.Errorf("Command = %q, want one short line", c)
	}
	first, err := s.FirstPane(t.Context(), "ws-evil")
	if err != nil || first.ID != panes[0].ID || first.Dir != dir {
		t.Errorf("FirstPane = %+v, %v; want pane %d in %q", first, err, panes[0].ID, dir)
	}
}

func TestNoValueForgesASession(t *testing.T) {
	t.Parallel()
	s := start(t)
	var forged []string
	for _, sep := range []string{"|", ":"} {
		forged = append(forged, strings.Join([]string{"ws-2", "a", "b", "c"}, sep))
	}
	values := map[string]string{"T": "t\n" + strings.Join(forged, "\n"), "U": "u|v:w", "@r": "r\n" + strings.Join(forged, "\n") + "\n"}
	s.make(t, tmux.NewSession{
		Name: "ws-1", Env: []tmux.Variable{{Name: "T", Value: values["T"]}, {Name: "U", Value: values["U"]}},
		Options: []tmux.Option{{Name: "@r", Value: values["@r"]}},
	})
	got, err := s.Sessions(t.Context(), "T", "U", "@r")
	want := []string{values["T"], values["U"], values["@r"]}
	if err != nil || len(got) != 1 || got[0].Name != "ws-1" || !slices.Equal(got[0].Values, want) {
		t.Errorf("Sessions = %q, %v; want ws-1 with %q", got, err, want)
	}
	env, err := tmux.SessionEnv(t.Context(), s.socket, "ws-1", "T", "U")
	if err != nil || env["T"] != values["T"] || env["U"] != values["U"] {
		t.Errorf("SessionEnv = %q, %v", env, err)
	}
}

// TestRowsOutsideAllReasonArePassedOver has a stand-in for tmux print them.
func TestRowsOutsideAllReasonArePassedOver(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	s := start(t)
	s.make(t, tmux.NewSession{Command: []string{"sleep", "60"}})
	for what, pane := range map[string]string{
		"a negative id": "%-1:0:::1", "no id": "7:0:::1", "a negative time": "%1:0:::-1", "a time beyond the year 9999": "%1:0:::99999999999999",
		"too few fields": "%1:0",
	} {
		t.Run(what, func(t *testing.T) {
			// The last argument is the format; the word in it ends at the first colon.
			fake(t, fmt.Sprintf(`for f; do :; done; case "$*" in *list-panes*) echo "${f%%%%:*}:ws-1:%s:x"; exit;; esac`, pane))
			s.reopen(t)
			if panes, err := s.Panes(t.Context()); err != nil || len(panes) > 0 {
				t.Errorf("Panes = %+v, %v; want none", panes, err)
			}
		})
	}
	fake(t, `for f; do :; done; case "$*" in *list-panes*) echo "${f%%:*}:ws-1:%1:0:::1:x"; exit;; esac`)
	s.reopen(t)
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 1 {
		t.Errorf("Panes of a good row = %+v, %v; so this test shows nothing", panes, err)
	}
}

// fake puts a stand-in for tmux on PATH that runs body, and then tmux.
func fake(t *testing.T, body string) {
	t.Helper()
	real, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\n"+body+"\nexec "+real+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}
