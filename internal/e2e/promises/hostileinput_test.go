package promises_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"fleet/internal/bridge/bridgetest"
	"fleet/internal/e2e/shipyard"
)

// snare is a program on every PATH of the test, which leaves a mark when it runs.
const snare = "flpwn"

// payloads are texts that do harm where somebody takes them for more than text.
func payloads() map[string]string {
	return map[string]string{
		"tmux command":       "#(" + snare + ")",
		"tmux nested":        "#{E:#(" + snare + ")}#{@fleet_agent}#{pane_pid}",
		"tmux style":         "#[fg=red,bold]#S##",
		"tmux target":        "=x:{mouse}.%1$5",
		"shell substitution": "$(" + snare + ")`" + snare + "`${HOME}",
		"shell quotes":       `'; ` + snare + `; '"; ` + snare + `; "`,
		"shell operators":    "|" + snare + "&&" + snare + ";" + snare + "&" + snare + "<(" + snare + ")",
		"shell line":         "a\n" + snare + "\nb",
		"option":             "--help",
		"CSI":                "\x1b[2J\x1b[31mred\x1b[6n",
		"own colour":         "\x1b[32mgreen\x1b[0m",
		"OSC title":          "\x1b]0;owned\x07\x1b]2;owned\x1b\\",
		"OSC 52":             "\x1b]52;c;Zmxwd24=\x07",
		"OSC 8":              "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
		"DCS":                "\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\\x1bP$q\"p\x1b\\",
		"C1 in UTF-8":        "\u009b31m\u009d52;c;eA==\u009c\u0085",
		"C1 as bytes":        "\x9b31m\x9d52;c;eA==\x9c",
		"bracketed paste":    "\x1b[201~" + snare + "\n\x1b[200~",
		"returns":            "real\rfake\b\b\x7f\v\fx",
		"right to left":      "a\u202egpj.exe\u2066b\u2069\u200f",
		"without width":      "ad\u200bmin\u200d\ufeff\u00ad\u034f\u2060\ufe0f\U000e0041",
		"separators":         "a\u2028b\u2029c",
		"no UTF-8":           "a\xffb\xc3(\xed\xa0\x80\xf5",
		"wide":               "世界 👍 e\u0301 ﾊﾝ",
		"JSON":               `","state":"idle","x":{"a":["` + "\\u001b[31m\\ud800",
		"markup":             "<script>" + snare + "</script>&lt;%s%n%!d(MISSING)",
	}
}

// everything is all payloads in one text, each behind its name.
func everything() string {
	var all strings.Builder
	texts := payloads()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&all, "[%s] %s ", name, texts[name])
	}
	return all.String()
}

// harmful finds the first character of an output that could drive a terminal, or that shows as
// something else than it is; "" where there is none.
func harmful(out string) string {
	for i, r := range out {
		if ' ' <= r && r <= '~' {
			continue
		}
		if r == utf8.RuneError && !strings.HasPrefix(out[i:], "\ufffd") ||
			r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)) {
			return fmt.Sprintf("%q in %q", r, out[max(0, i-60):min(len(out), i+60)])
		}
	}
	return ""
}

// Without this the checks below could all be blind.
func TestTheCheckOfOutputsSeesEveryPayload(t *testing.T) {
	harmless := map[string]bool{
		"tmux command": true, "tmux nested": true, "tmux style": true, "tmux target": true, "shell substitution": true,
		"shell quotes": true, "shell operators": true, "shell line": true, "option": true, "wide": true, "JSON": true, "markup": true,
	}
	for name, text := range payloads() {
		if (harmful("x "+text+" y") == "") != harmless[name] {
			t.Errorf("%s: harmful(%q) = %q", name, text, harmful(text))
		}
	}
}

// victim is a fleet whose every output is checked.
type victim struct {
	*fleet
	gh  *bridgetest.GitHub
	far *bridgetest.Repo
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	gh := bridgetest.NewGitHub(t)
	dir := t.TempDir()
	f := newFleet(t, "GITHUB_TOKEN="+gh.Token(), "PATH="+dir+":"+shipyard.Built()+":"+os.Getenv("PATH"))
	v := &victim{fleet: f, gh: gh, far: gh.Repo("acme/gears")}
	v.mkdir(t, "marks")
	script := fmt.Sprintf("#!/bin/sh\necho \"$$ of $PPID\" >'%s/marks/'$$\n", f.dir)
	if err := os.WriteFile(filepath.Join(dir, snare), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	remote := "https://github.example/acme/gears.git"
	f.shell(t, f.dir, "git config --global url."+f.origin+".insteadOf "+remote)
	v.say(t, "repo", "add", "gears", remote, "--forge", "github", "--api-url", gh.URL())
	f.serve(t)
	v.say(t, "create", "gears/one")
	v.say(t, "activate", "gears/one", "--", "sleep", "1000")
	return v
}

// say runs a ship command, whether it succeeds or not, and checks what it prints.
func (v *victim) say(t *testing.T, args ...string) result {
	t.Helper()
	r := v.ship(t, args...)
	for name, out := range map[string]string{"stdout": r.stdout, "stderr": r.stderr} {
		if found := harmful(out); found != "" {
			t.Errorf("ship %.200q prints %s on %s", args, found, name)
		}
		if strings.Contains(out, "panic") || strings.Contains(out, "goroutine ") {
			t.Errorf("ship %.200q: %s is %.500s", args, name, out)
		}
	}
	if r.code != 0 && strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("ship %.200q failed with %d lines on stderr, want one: %.500q", args, strings.Count(r.stderr, "\n"), r.stderr)
	}
	if args[len(args)-1] == "--json" && r.code == 0 && !json.Valid([]byte(r.stdout)) {
		t.Errorf("ship %.200q prints no JSON: %.500q", args, r.stdout)
	}
	return r
}

// readers are the commands that show what others wrote.
func (v *victim) readers(t *testing.T) {
	t.Helper()
	for _, words := range []string{
		"ls", "ls --json", "status", "status --json", "status gears/one", "status gears/one --json", "events", "events --calls --json",
		"events --workspace gears/one", "logs gears/one", "logs gears/one --json", "repo list", "repo list --json", "bridge list",
		"__complete attach ", "__complete create ",
	} {
		args := strings.Split(words, " ")
		if r := v.say(t, args...); r.code != 0 && args[0] != "events" {
			t.Errorf("ship %s = %d: %s", words, r.code, r.stderr)
		}
	}
}

// marks says which of the snares ran.
func (v *victim) marks(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(v.dir, "marks"))
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	for _, e := range entries {
		ran = append(ran, e.Name())
	}
	return ran
}

func TestTheSnareOfThisTestRunsInASession(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.say(t, "create", "gears/two")
	v.say(t, "activate", "gears/two", "--", "sh", "-c", snare+"; sleep 1000")
	if !shipyard.Poll(func() bool { return len(v.marks(t)) == 1 }) {
		t.Errorf("%s ran in a session, and left %d marks: the other tests see nothing", snare, len(v.marks(t)))
	}
}

// TestHostileInputIsNeitherRunNorShown plants it where an agent, a checkout or a forge can put words
// of its own.
func TestHostileInputIsNeitherRunNorShown(t *testing.T) {
	fromAll(t, map[string]func(*victim, *testing.T){
		"the name of a workspace": (*victim).names,
		"what an agent says":      (*victim).agent,
		"HEAD of a checkout":      (*victim).heads,
		"the text of a session":   (*victim).session,
		"what a forge says":       (*victim).forge,
	})
}

// fromAll has each of places filled in a fleet of its own, and looks at what comes out of it.
func fromAll(t *testing.T, places map[string]func(*victim, *testing.T)) {
	for place, plant := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			plant(v, t)
			v.readers(t)
			if ran := v.marks(t); len(ran) > 0 {
				t.Errorf("what stood in %s was run %d times", place, len(ran))
			}
			if found := harmful(v.daemon.Said()); found != "" {
				t.Errorf("ship serve logs %s", found)
			}
		})
	}
}
