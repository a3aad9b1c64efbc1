package promises_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/atlas"
)

func quoted(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// names are created, and activated by the command that ship prints for it: typed as it stands it
// does what it says.
func (v *victim) names(t *testing.T) {
	for name, text := range payloads() {
		made := v.say(t, "create", "gears/"+text)
		if legal := atlas.CheckName(text) == nil; legal != (made.code == 0) {
			t.Errorf("%s: ship create = %d: %s", name, made.code, made.stderr)
		}
		if made.code != 0 {
			continue
		}
		_, next, _ := strings.Cut(made.stdout, "Next: ")
		if r := v.run(t, v.command("bash", "-c", next)); r.code != 0 {
			t.Errorf("%s: %q = %d %s", name, next, r.code, r.stderr)
		}
		if r := v.say(t, "call", "gears/"+text, "agent_init", `{"model":"m","provider":"p","harness":"h"}`); r.code != 0 {
			t.Errorf("%s: agent_init = %s", name, r.stderr)
		}
	}
	v.daemon.Kill(t)
	v.serve(t)
}

func (v *victim) agent(t *testing.T) {
	for name, text := range few() {
		word := quoted(t, text)
		v.say(t, "call", "gears/one", "agent_init", fmt.Sprintf(`{"model":%s,"provider":%[1]s,"harness":%[1]s}`, word))
		v.say(t, "call", "gears/one", "agent_init", `{"model":"m","provider":"p","harness":"h"}`)
		r := v.say(t, "call", "gears/one", "agent_status", `{"state":"building","description":`+word+`}`)
		v.say(t, "status", "gears/one")
		v.say(t, "call", "gears/one", "agent_status", `{"state":"building","description":`+strings.Trim(word, `"`)+`}`) // unquoted
		if r.code != 0 {
			continue
		}
		var list struct {
			Workspaces []struct{ Agent struct{ Description string } }
		}
		out := v.say(t, "status", "gears/one", "--json").stdout
		var meant string
		if err := json.Unmarshal([]byte(word), &meant); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Workspaces) != 1 || list.Workspaces[0].Agent.Description != strings.TrimSpace(meant) {
			t.Errorf("%s: ship status --json = %s, %v, want the description %q", name, out, err, meant)
		}
	}
	v.say(t, "call", "gears/one", "agent_status", `{"state":"building","description":"`+strings.Repeat("A", 100_000)+`"}`)
	v.say(t, "call", "gears/one", "agent_status", `{"state":"building","description":"\ud800\u0000"}`)
}

func (v *victim) heads(t *testing.T) {
	head := filepath.Join(v.root, "gears", "one", ".git", "HEAD")
	for _, text := range long(few()) {
		for _, line := range []string{"ref: refs/heads/" + text + "\n", text} {
			if err := os.WriteFile(head, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			v.say(t, "ls")
			v.say(t, "status", "gears/one")
		}
	}
	v.say(t, "call", "gears/one", "repo_checks")
	v.say(t, "remove", "gears/one")
}

// few is all payloads in one text, and alone those that would be lost in it; for places where each
// costs much.
func few() map[string]string {
	all := payloads()
	texts := map[string]string{"everything": everything()}
	for _, name := range []string{"JSON", "C1 as bytes", "right to left", "shell quotes"} {
		texts[name] = all[name]
	}
	return texts
}

// long adds a text of 1 MiB.
func long(texts map[string]string) map[string]string {
	texts["long"] = strings.Repeat("A", 1<<20)
	return texts
}

func (v *victim) session(t *testing.T) {
	v.say(t, "create", "gears/two")
	text := everything() + "\n" + strings.Repeat("A", 1<<20) + "\nthe end\n"
	if err := os.WriteFile(filepath.Join(v.root, "gears", "two", "text"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v.say(t, "activate", "gears/two", "--", "sh", "-c", "cat text; exec sleep 1000")
	if !shows(func() bool { return strings.Contains(v.say(t, "logs", "gears/two").stdout, "the end") }) {
		t.Error("ship logs never showed the end of the text")
	}
	v.say(t, "logs", "gears/two", "--json")
	v.say(t, "status")
}

func (v *victim) forge(t *testing.T) {
	for _, text := range long(few()) {
		title := text[:min(len(text), 200)]
		v.far.Issue(title).Body(text).Label(title).Comment("ann", text)
		pull := v.far.Pull(title).From("b" + title).Body(text)
		pull.Comment("ann", text)
		pull.Review("bob", "COMMENTED", text)
		v.far.Run(title, pull.Head()).Job(title).Fails(title, text+"\nFAIL "+text)
		for _, call := range []string{"repo_pr_view", "repo_issue_view", "repo_checks", "repo_failed_logs"} {
			key := "pr"
			if strings.HasSuffix(call, "view") {
				key = "number"
			}
			number := pull.Number()
			if call == "repo_issue_view" {
				number--
			}
			v.say(t, "call", "gears/one", call, fmt.Sprintf(`{%q:%d}`, key, number))
		}
	}
	for _, call := range []string{"repo_issue_list", "repo_pr_list", "repo_info"} {
		if r := v.say(t, "call", "gears/one", call); r.code != 0 {
			t.Errorf("%s = %s", call, r.stderr)
		}
		v.say(t, "call", "gears/one", call, "--json")
	}
}
