package promises_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// trap fills a checkout's git configuration with every way we know to make git run a program.
// Each leaves its name in the folder marks.
func trap(t *testing.T, f *fleet, work, marks string) {
	t.Helper()
	f.shell(t, work, fmt.Sprintf(`
		set -e; marks='%s'; mkdir -p "$marks" .git/hooks evil
		snare() { printf '#!/bin/sh\ntouch "%%s/%%s"\ncat\n' "$marks" "$1" >"evil/$1"; chmod +x "evil/$1"; echo "$PWD/evil/$1"; }
		c() { git config "$@"; }
		c core.fsmonitor "$(snare fsmonitor)"
		c core.sshCommand "$(snare ssh)"; c core.askPass "$(snare askpass)"; c core.pager "$(snare pager)"; c core.editor "$(snare editor)"
		c core.gitProxy "$(snare proxy)"; c core.alternateRefsCommand "$(snare alternates)"
		c credential.helper "!$(snare credential)"; c gpg.program "$(snare gpg)"; c log.showSignature true
		c filter.evil.clean "$(snare clean)"; c filter.evil.smudge "$(snare smudge)"; c filter.evil.process "$(snare process)"; c filter.evil.required false
		c diff.evil.textconv "$(snare textconv)"; c diff.evil.command "$(snare diff)"; c diff.external "$(snare external)"
		c merge.evil.driver "$(snare merge)"
		for a in status rev-list rev-parse log stash; do c "alias.$a" "!$(snare alias)"; done
		c remote.origin.uploadpack "$(snare uploadpack)"; c remote.origin.vcs "evil"; c protocol.ext.allow always
		c "url.ext::$(snare ext) .insteadOf" /; c gc.auto 1; c gc.recentObjectsHook "$(snare gc)"; c maintenance.auto true
		c uploadpack.packObjectsHook "$(snare pack)"
		printf '[core]\n\tfsmonitor = %%s\n\thooksPath = %%s\n' "$(snare included)" "$PWD/evil/hooks" >evil/included
		c include.path "$PWD/evil/included"
		mkdir -p evil/hooks
		for h in post-checkout pre-commit post-index-change reference-transaction fsmonitor-watchman pre-auto-gc post-rewrite update pre-push; do
			printf '#!/bin/sh\ntouch "%%s/hook-%%s"\n' "$marks" "$h" >"evil/hooks/$h"; chmod +x "evil/hooks/$h"; cp "evil/hooks/$h" .git/hooks/
		done
		printf '* filter=evil diff=evil merge=evil\n' >.gitattributes; mkdir -p .git/info; cp .gitattributes .git/info/attributes
		printf '*\n' >>evil/.gitignore
		echo hullo >README; touch -d '2001-01-01' README`, marks))
}

func sprung(t *testing.T, marks string) []string {
	t.Helper()
	entries, err := os.ReadDir(marks)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestNothingOfAHostileCheckoutRunsThroughAnyCommand(t *testing.T) {
	t.Parallel()
	f := serving(t)
	marks := filepath.Join(f.dir, "marks")
	for _, name := range []string{"bad", "worse"} {
		f.must(t, "create", "r/"+name)
		trap(t, f, f.path(name), marks)
	}
	f.shell(t, f.dir, "rm -r marks && mkdir marks") // what making the trap set off
	each := func(what string) {
		t.Helper()
		if names := sprung(t, marks); len(names) > 0 {
			t.Errorf("%s ran %q", what, names)
			f.shell(t, f.dir, "rm marks/*")
		}
	}
	call := []string{"call", "r/bad", "agent_init", `{"model":"m","provider":"p","harness":"h"}`}
	for _, args := range [][]string{
		{"create", "r/sibling"},
		{"ls"},
		{"ls", "--json"},
		{"activate", "r/bad", "--", "sleep", "1000"},
		{"status"},
		{"status", "r/bad"},
		{"logs", "r/bad"},
		call,
		{"call", "r/bad", "agent_status_get"},
		{"token", "rotate", "r/bad"},
		{"events"},
		{"deactivate", "r/bad"},
	} {
		f.must(t, args...)
		each(fmt.Sprintf("ship %q", args))
	}
	f.refused(t, []string{"call", "r/bad", "repo_checks"}, "active")
	each("ship call repo_checks")
	f.refused(t, []string{"remove", "r/bad"}, "next:")
	each("ship remove")
	f.daemon.Kill(t)
	f.serve(t)
	f.must(t, "ls")
	each("a restart")
	f.must(t, "remove", "r/bad", "--force")
	each("ship remove --force")
	if got := f.state(t, "bad"); got != "missing" {
		t.Errorf("after ship remove --force ship ls shows %q", got)
	}
	// The traps of the other one do go off, for those who run git there.
	f.shell(t, f.path("worse"), "git status >/dev/null 2>&1; git diff >/dev/null 2>&1; git add README >/dev/null 2>&1; git branch x >/dev/null 2>&1; true")
	names := sprung(t, marks)
	if len(names) < 4 {
		t.Errorf("plain git ran only %q of the traps: this test sees too little", names)
	}
}

// A workspace whose .git is a file that leads elsewhere shows nothing of there.
func TestAGitFileThatLeadsElsewhereIsNotFollowed(t *testing.T) {
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/one")
	f.must(t, "create", "r/two")
	f.shell(t, f.dir, "git clone -q src/r private && cd private && git checkout -q -b confidential-name")
	f.shell(t, f.path("one"), "rm -rf .git && echo 'gitdir: "+filepath.Join(f.dir, "private", ".git")+"' >.git")
	w := f.workspaces(t)["one"]
	if w.Branch != nil || w.Head != nil {
		t.Errorf("ship ls shows branch %v and head %v of a repository elsewhere", *w.Branch, w.Head)
	}
	f.refused(t, []string{"remove", "r/one"})
	if got := f.state(t, "two"); got != "never_activated" {
		t.Errorf("the sibling is %q", got)
	}
}
