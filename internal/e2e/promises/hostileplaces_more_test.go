//go:build e2e

package promises_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// TestHostileInputFromEveryOtherPlaceIsNeitherRunNorShown: these are places of the operator's own,
// or ones that take long to try.
func TestHostileInputFromEveryOtherPlaceIsNeitherRunNorShown(t *testing.T) {
	fromAll(t, map[string]func(*victim, *testing.T){
		"a directory made by hand":    (*victim).directories,
		"atlas.json":                  (*victim).file,
		"the URL of a repository":     (*victim).urls,
		"the command of a pane":       (*victim).commands,
		"why a forge fails":           (*victim).refusals,
		"the words of a command":      (*victim).words,
		"events.jsonl":                (*victim).events,
		"windows and options of tmux": (*victim).options,
		"the directory of the atlas":  (*victim).atlases,
	})
}

// directories are below the atlas and look like workspaces.
func (v *victim) directories(t *testing.T) {
	for name, text := range payloads() {
		for _, path := range []string{filepath.Join(v.root, "gears", text), filepath.Join(v.root, text, text)} {
			if err := os.MkdirAll(filepath.Join(path, ".git"), 0o700); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := os.WriteFile(filepath.Join(path, ".git", "HEAD"), []byte("ref: refs/heads/"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (v *victim) file(t *testing.T) {
	path := filepath.Join(v.root, atlas.FileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range few() {
		word := quoted(t, text)
		for _, part := range []string{
			word + `: 1`, `"env": [` + word + `]`, `"toolsets": [{"use": ` + word + `}]`,
			`"repos": {` + word + `: {"url": "/x", "forge": "none"}}`,
			`"repos": {"x": {"url": ` + word + `, "forge": ` + word + `, "api_url": ` + word + `, "default_branch": ` + word + `}}`,
		} {
			if err := os.WriteFile(path, []byte(`{"fleet": 1, "port": 4700, `+part+`}`), 0o600); err != nil {
				t.Fatal(err)
			}
			v.say(t, "repo", "list")
		}
	}
	v.say(t, "__complete", "create", "")
	v.daemon.Signal(t, syscall.SIGHUP)
	if !shipyard.Poll(func() bool { return strings.Contains(v.daemon.Said(), "read atlas.json again") }) {
		t.Errorf("the ship said nothing of an atlas.json that is wrong: %s", v.daemon.Said())
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (v *victim) urls(t *testing.T) {
	for name, text := range few() {
		v.say(t, "repo", "add", "x", text)
		v.say(t, "repo", "add", "x", "https://github.com/acme/"+text)
		dir := v.mkdir(t, "src", "at "+strings.ReplaceAll(text, "/", "")[:min(len(text), 200)/2])
		v.shell(t, dir, "git init -q .")
		if r := v.say(t, "repo", "add", "x", dir); r.code == 0 {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if r := v.say(t, "create", "x/one"); r.code == 0 {
				t.Errorf("%s: a repository that is gone was cloned", name)
			}
			v.say(t, "repo", "list")
			v.say(t, "repo", "remove", "x")
		}
	}
}

func (v *victim) commands(t *testing.T) {
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	v.say(t, "create", "gears/two")
	for _, name := range []string{"CSI", "C1 as bytes", "returns", "right to left", "tmux command", "shell substitution", "shell line", "wide"} {
		text := payloads()[name]
		program := strings.ReplaceAll(text, "/", "_")
		if err := os.WriteFile(filepath.Join(v.root, "gears", "two", program), sleep, 0o700); err != nil {
			t.Fatal(err)
		}
		// By its path, and as words that no program has.
		if r := v.say(t, "activate", "gears/two", "--", "./"+program, "1000"); r.code != 0 && strings.Contains(r.stderr, "internal") {
			t.Errorf("%s: ship activate = %s", name, r.stderr)
		}
		v.say(t, "status", "gears/two")
		v.say(t, "deactivate", "gears/two")
	}
	v.say(t, "activate", "gears/two", "--", everything(), "$("+snare+")", "; "+snare)
	v.say(t, "status")
}

func (v *victim) refusals(t *testing.T) {
	number := v.far.Issue("bolts").Number()
	path := fmt.Sprintf("/repos/acme/gears/issues/%d", number)
	for _, text := range long(few()) {
		for _, body := range []string{`{"message":` + quoted(t, text) + `}`, `{"message":"` + text + `"}`, text} {
			rule := v.gh.When("GET", path).Answer(http.StatusUnprocessableEntity, map[string]string{"Content-Type": "application/json"}, body)
			if r := v.say(t, "call", "gears/one", "repo_issue_view", fmt.Sprintf(`{"number":%d}`, number)); r.code != 1 {
				t.Errorf("an answer of 422 gave %d %.200q", r.code, r.stdout)
			}
			rule.End()
		}
	}
}

func (v *victim) words(t *testing.T) {
	for _, text := range []string{everything(), strings.Repeat("A", 60_000)} {
		for _, args := range [][]string{
			{text},
			{"call", "gears/one", text},
			{"call", "gears/one", "repo_info", text},
			{"call", "gears/" + text, "repo_info"},
			{"events", "--type", text},
			{"events", "--since", text},
			{"events", "--workspace", "gears/" + text},
			{"create", "gears/two", "--branch", text},
			{"create", "gears/two", "--from", text},
			{"create", text + "/" + text},
			{"activate", "gears/one", "--env", text},
			{"activate", "gears/one", text},
			{"remove", "gears/" + text},
			{"token", "rotate", "gears/" + text},
			{"token", text},
			{"harness", "print", text},
			{"--atlas", filepath.Join(v.dir, text), "ls"},
			{"--atlas=" + text, "ls"},
			{"init", filepath.Join(v.dir, "no", text, "such")},
			{"repo", "remove", text},
			{"credential", "remove", text},
			{"credential", "add", text},
			{"completion", text},
			{"bridge", "revoke", text},
			{"bridge", "list", "--config", text},
			{"up", text},
			{"help", text},
			{"ls", "--" + text},
			{"service", "install", "--env-file", text},
			{"__complete", "call", text, ""},
		} {
			r := v.ship(t, args...)
			for _, out := range []string{r.stdout, r.stderr} {
				if found := harmful(out); found != "" && args[0] != "__complete" {
					t.Errorf("ship %.100q prints %s", args, found)
				}
			}
		}
	}
}

func (v *victim) events(t *testing.T) {
	v.daemon.Stop(t)
	path := filepath.Join(atlas.StateDir(v.root), "events.jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, text := range few() {
		for _, word := range []string{quoted(t, text), `"` + strings.ReplaceAll(text, `"`, "") + `"`, text} {
			fmt.Fprintf(f, `{"id":"0","time":"2026-01-02T03:04:05Z","type":"agent.status","repo":"gears","workspace":%s,"agent":{"state":"building","description":%[1]s}}`+"\n", word)
			fmt.Fprintf(f, `{"id":"0","time":"2026-01-02T03:04:05Z","type":%s,"reason":%[1]s,"repo":"gears","workspace":"one"}`+"\n", word)
		}
	}
	fmt.Fprintf(f, `{"id":"0","time":"2026-01-02T03:04:05Z","type":"x","reason":"%s","repo":"gears","workspace":"one"}`+"\n", strings.Repeat("A", 1<<20))
	for _, words := range []string{"events", "events --calls", "events --json", "events --workspace gears/one"} {
		if r := v.say(t, strings.Split(words, " ")...); r.code != 0 || !strings.Contains(r.stdout, "AAAA") {
			t.Errorf("ship %s = %d, %s, want the longest event in it", words, r.code, r.stderr)
		}
	}
	v.serve(t)
}

// options are what a process in a pane can set, since it can reach the socket of its own tmux.
func (v *victim) options(t *testing.T) {
	target := sessionOf(t, "gears", "one")
	for _, text := range few() {
		if strings.HasPrefix(text, "-") {
			continue
		}
		v.tmux(t, "set-option", "-t", target+":", "@fleet_agent", text)
		v.tmux(t, "set-option", "-t", target+":", "@fleet_seen", text)
		v.tmux(t, "select-pane", "-t", target+":", "-T", strings.ReplaceAll(text, "#(", "#_("))
		v.say(t, "status", "gears/one")
	}
	record := fmt.Sprintf(`{"repo":"gears","workspace":"one","session_id":"x","model":%s,"provider":"p","harness":%[1]s,"state":%[1]s,"description":%[1]s}`, quoted(t, everything()))
	v.tmux(t, "set-option", "-t", target+":", "@fleet_agent", record)
	v.daemon.Kill(t)
	v.serve(t)
	v.say(t, "status")
}

func (v *victim) atlases(t *testing.T) {
	all := payloads()
	for name, dir := range map[string]string{
		"what is run":   all["tmux command"] + all["shell substitution"] + all["shell quotes"] + all["shell operators"],
		"what is shown": all["shell line"] + all["CSI"] + all["C1 in UTF-8"] + all["right to left"] + all["OSC title"],
		"no UTF-8":      all["C1 as bytes"],
	} {
		root := filepath.Join(v.dir, dir)
		other := *v.fleet
		other.root, other.daemon = root, nil
		v2 := &victim{fleet: &other, gh: v.gh, far: v.far}
		init := v2.run(t, v2.command(shipyard.Built("ship"), "init", "--port", "0", root))
		if found := harmful(init.stdout + init.stderr); found != "" || init.code != 0 {
			t.Errorf("%s: ship init = %d, prints %s%s", name, init.code, found, init.stderr)
		}
		for _, words := range []string{"status", "service install --dry-run", "repo add r " + v.origin, "up", "create r/one", "activate r/one -- sleep 1000", "status", "ls --json", "status r/one", "down --sessions", "status"} {
			v2.say(t, strings.Split(words, " ")...)
		}
		v2.end(t)
	}
}
