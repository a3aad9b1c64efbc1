package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fleet/api"
)

func TestNothingPrintedCanDriveATerminal(t *testing.T) {
	cases := map[string]string{
		"escape":         "a\x1b[2Jb",
		"title":          "\x1b]0;pwned\x07b",
		"newline":        "a\nb",
		"carriage":       "a\rb",
		"C1 control":     "a\u009b2Jb",
		"right to left":  "a\u202eb",
		"zero width":     "a\u200bb",
		"backspace, DEL": "a\b\x7fb",
	}
	for name, text := range cases {
		for _, r := range clean(text) {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x200b {
				t.Errorf("%s: clean(%q) = %q", name, text, clean(text))
			}
		}
	}
	if got := clean("é b #{x} $ 世界"); got != "é b #{x} $ 世界" {
		t.Errorf("clean changed harmless text to %q", got)
	}
}

func TestAnErrorIsOneLineThatSaysWhatToDoNext(t *testing.T) {
	err := &api.Error{Code: api.NotFound, Message: "no workspace\nis called a/b", Hint: "ship create a/b", Err: errors.New("cause with detail")}
	if got, want := oneLine(err), "no workspace is called a/b; next: ship create a/b"; got != want {
		t.Errorf("oneLine = %q, want %q", got, want)
	}
	if got, want := oneLine(errors.Join(err, errors.New("no space"))), "no workspace is called a/b; next: ship create a/b; and no space"; got != want {
		t.Errorf("oneLine of two errors = %q, want %q", got, want)
	}
	if got, want := oneLine(fmt.Errorf("clone: %w", err)), "clone: no workspace is called a/b; next: ship create a/b"; got != want {
		t.Errorf("oneLine of a wrapped error = %q, want %q", got, want)
	}
	for text, want := range map[string]string{
		" a\n\t b \r\n\nc\n":          "a b c",
		"a \v b\u0085c\u2028 \u2029d": "a b c d",
		"a  b\u00a0 c ":               "a  b\u00a0 c", // blanks that may be a name's
		"\n ":                         "",
	} {
		if got := oneLine(errors.New(text)); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestThoseWhoWaitForAPersonComeFirstTheLongestWaitAtTheTop(t *testing.T) {
	now := time.Now()
	agent := func(state api.State, ago time.Duration) *api.AgentStatus {
		return &api.AgentStatus{State: state, UpdatedAt: now.Add(-ago)}
	}
	all := []api.Workspace{
		{Repo: "r", Name: "inactive"},
		{Repo: "r", Name: "idle", Active: true, Agent: agent(api.Idle, 0)},
		{Repo: "r", Name: "no-agent", Active: true},
		{Repo: "r", Name: "waits-short", Active: true, Agent: agent(api.Awaiting, time.Minute)},
		{Repo: "r", Name: "builds", Active: true, Agent: agent(api.Building, 0)},
		{Repo: "r", Name: "waits-long", Active: true, Agent: agent(api.Awaiting, time.Hour)},
	}
	sortByNeed(all)
	var order []string
	for _, ws := range all {
		order = append(order, ws.Name)
	}
	if got, want := strings.Join(order, " "), "waits-long waits-short builds idle no-agent inactive"; got != want {
		t.Errorf("order = %s, want %s", got, want)
	}
}

func TestASourceGivesForgeAndNameWithoutAskingAnybody(t *testing.T) {
	cases := map[string]struct{ name, forge, api string }{
		"https://github.com/acme/widgets.git":    {"widgets", "github", "https://api.github.com"},
		"git@github.com:acme/widgets.git":        {"widgets", "github", "https://api.github.com"},
		"ssh://git@gitlab.com/acme/sub/widgets/": {"widgets", "gitlab", "https://gitlab.com/api/v4"},
		"https://codeberg.org/acme/widgets":      {"widgets", "gitea", "https://codeberg.org/api/v1"},
		"github.com:acme/widgets":                {"widgets", "github", "https://api.github.com"},
	}
	for source, want := range cases {
		repo, name, err := sourceRepo(source)
		if err != nil || name != want.name || repo.Forge != want.forge || repo.APIURL != want.api || repo.URL != source {
			t.Errorf("sourceRepo(%s) = %+v, %q, %v; want %+v", source, repo, name, err, want)
		}
	}
	if _, _, err := sourceRepo("https://git.example.org/acme/widgets"); err == nil || !strings.Contains(err.Error(), "--forge") {
		t.Errorf("an unknown host gives %v, want a word about --forge", err)
	}
	if _, _, err := sourceRepo("github.com:widgets"); err == nil || !strings.Contains(err.Error(), "no repository") {
		t.Errorf("a path of one part on a forge gives %v, want that it names no repository", err)
	}
	repo, err := makeRepo("https://git.example.org/acme/widgets", "github", "")
	if err != nil || repo.APIURL != "" {
		t.Errorf("a self-hosted GitHub gives %+v, %v; the bridge knows its API", repo, err)
	}
	repo, err = makeRepo("https://git.example.org:3000/acme/widgets", "gitea", "")
	if err != nil || repo.APIURL != "https://git.example.org:3000/api/v1" {
		t.Errorf("a forge on a port gives %+v, %v", repo, err)
	}
}
