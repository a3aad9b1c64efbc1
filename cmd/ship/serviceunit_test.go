//go:build linux

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
)

// hostileNames are of directories in which an atlas may lie.
func hostileNames() map[string]string {
	return map[string]string{
		"plain":        "fleet",
		"blank":        "my  fleet ",
		"specifier":    "100%h %u%%",
		"variable":     "$HOME ${HOME} $$",
		"quotes":       `'a' "b" \`,
		"separators":   "a;b && c | d # e",
		"substitution": "$(touch x) `touch y`",
		"line":         "a\nExecStartPre=/bin/touch z\n[Service]\r",
		"escapes":      "\x1b]0;t\a\x7f",
		"letters":      "é 世界 \u202e\u200b",
	}
}

// The hard part of a unit is its quoting, and systemd itself is asked how it reads it.
func TestSystemdReadsTheUnitOfAnyAtlasAsItIsMeant(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed, so that nobody here can read a unit as systemd does")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	verify := []string{"--user", "--man=no", "verify"}
	units := map[string]unit{}
	for name, dir := range hostileNames() {
		u := unit{program: program, root: filepath.Join("/srv", dir), environment: []string{"PATH=/a b/%h:$HOME:\"c\"'d'\\"}}
		if err := u.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		path := filepath.Join(home, u.name())
		if err := os.WriteFile(path, []byte(u.text()), 0o600); err != nil {
			t.Fatal(err)
		}
		verify = append(verify, path)
		units[name] = u
	}
	// One call for all: systemd reads its own units each time.
	asked := func(level string) (dump, said string) {
		c := exec.Command(analyze, verify...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "SYSTEMD_LOG_LEVEL=" + level}
		var out, errs strings.Builder
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err != nil {
			t.Fatalf("systemd-analyze verify: %v\n%s", err, &errs)
		}
		return out.String(), errs.String()
	}
	if _, said := asked("warning"); said != "" {
		t.Errorf("systemd-analyze verify said %q", said)
	}
	dump, _ := asked("debug")
	for name, u := range units {
		if got, want := commandLine(t, dump, u.name()), shown(program+" serve --atlas "+u.root); got != want {
			t.Errorf("%s: systemd would run %q, want %q; the unit is\n%s", name, got, want, u.text())
		}
	}
}

// shown spells control characters as systemd's dump does.
func shown(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\a", `\a`, "\x1b", `\033`, "\x7f", `\177`).Replace(s)
}

// commandLine finds the command of a unit in systemd's own dump, which writes each word for a
// shell, and joins its words with blanks.
func commandLine(t *testing.T, dump, name string) string {
	t.Helper()
	_, rest, _ := strings.Cut(dump, "-> Unit "+name)
	_, rest, ok := strings.Cut(rest, "Command Line: ")
	if !ok {
		t.Fatalf("systemd-analyze's dump has no command line of %s", name)
	}
	words, _, _ := strings.Cut(rest, "\n")
	out, err := exec.Command("bash", "-c", `set -f; eval "w=($1)"; IFS=' '; printf '%s' "${w[*]}"`, "bash", words).Output()
	if err != nil {
		t.Fatalf("%s: %v", words, err)
	}
	return string(out)
}

func TestAUnitThatWasEditedIsNotOurs(t *testing.T) {
	text := unit{program: "/bin/ship", root: "/srv/fleet"}.text()
	if !ours(text) {
		t.Errorf("ship does not know its own unit:\n%s", text)
	}
	for what, other := range map[string]string{
		"a changed value": strings.Replace(text, "RestartSec=2", "RestartSec=3", 1),
		"a line more":     text + "Nice=5\n",
		"no header":       strings.SplitN(text, "\n", 2)[1],
		"nothing":         "",
	} {
		if ours(other) {
			t.Errorf("%s: taken for a unit as ship wrote it", what)
		}
	}
}

func TestEachAtlasHasAUnitOfItsOwn(t *testing.T) {
	seen := map[string]string{}
	for name, dir := range hostileNames() {
		u := unit{root: filepath.Join("/srv", dir)}.name()
		if other := seen[u]; other != "" {
			t.Errorf("%s and %s share the unit %s", name, other, u)
		}
		seen[u] = name
	}
}

func TestAUnitIsRefusedRatherThanWrittenWrong(t *testing.T) {
	good := unit{program: "/bin/ship", root: "/srv/fleet"}
	cases := map[string]func(*unit){
		"a root that is no UTF-8":  func(u *unit) { u.root = "/srv/\xff" },
		"a program with a quote":   func(u *unit) { u.program = `/opt/"x"/ship` },
		"a program with a newline": func(u *unit) { u.program = "/opt/a\nb/ship" },
		"a variable with an escape": func(u *unit) {
			u.environment = []string{"PATH=/bin:\x1b"}
		},
	}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for what, change := range cases {
		u := good
		change(&u)
		if u.check() == nil {
			t.Errorf("%s: written as\n%s", what, u.text())
		}
	}
	secret := map[string]string{"FLEET_BRIDGE_URL": "https://me:secret@bridge.example"}
	_, err := unitEnvironment(func(name string) (string, bool) { v, ok := secret[name]; return v, ok })
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an address with a password gives %v, want a refusal without it", err)
	}
}

func TestWithoutSystemdServiceSaysWhatToDoInstead(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", root)
	if code := run(t.Context(), []string{"init", "--port", "0", filepath.Join(root, "a")}, nil, io.Discard, io.Discard); code != exitDone {
		t.Fatalf("ship init = %d", code)
	}
	a := &app{atlasFlag: filepath.Join(root, "a"), stdout: io.Discard, stderr: io.Discard}
	_, err := a.service("darwin")
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.Unsupported || !strings.Contains(e.Hint, "launchd") {
		t.Errorf("ship service on darwin = %v, want unsupported and what launchd needs", err)
	}
	if _, err := a.service("linux"); err != nil {
		t.Errorf("ship service on linux = %v", err)
	}
}
