package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
)

// checkout runs a script in a new workspace r/w of an atlas, and gives a Manager that knows the
// atlas's root alone: positions are read from files.
func checkout(t *testing.T, script string) (m *Manager, git func(args ...string) string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "r", "w")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
			"GIT_AUTHOR_NAME=Ann Example", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann Example", "GIT_COMMITTER_EMAIL=ann@example.org")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("sh", "-ec", "git init -q -b main .\n"+script)
	return &Manager{c: Config{Root: root}}, func(args ...string) string { return run("git", args...) }
}

const commits = `echo 1 >f; git add f; git commit -qm one
git switch -qc work; echo 2 >f; git commit -qam two
git switch -q main; echo 3 >f; git commit -qam three
`

func TestPositionIsTheBranchThatTheWorkIsOn(t *testing.T) {
	t.Parallel()
	id := atlas.ID{Repo: "r", Name: "w"}
	cases := map[string]struct{ script, branch, commit string }{
		"on a branch":            {commits + "git switch -q work", "work", "work"},
		"on a packed branch":     {commits + "git switch -q work; git pack-refs --all", "work", "work"},
		"a branch with a slash":  {commits + "git switch -qc fix/a.b", "fix/a.b", "fix/a.b"},
		"mid-rebase":             {commits + "git switch -q work; ! git rebase main 2>&1", "work", "work"},
		"mid-rebase --apply":     {commits + "git switch -q work; ! git rebase --apply main 2>&1", "work", "work"},
		"an interactive rebase":  {commits + "git switch -q work; GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -qi HEAD~1 2>&1", "work", "work"},
		"on a branch never used": {"", "main", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, git := checkout(t, c.script)
			want := Position{Branch: c.branch}
			if c.commit != "" {
				want.Commit = git("rev-parse", "refs/heads/"+c.commit)
			}
			if got, err := m.Position(id); err != nil || got != want {
				t.Errorf("Position = %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestPositionInAWorktreeIsItsOwn(t *testing.T) {
	t.Parallel()
	m, git := checkout(t, commits+"git worktree add -q ../tree work; git -C ../tree switch -qc other")
	got, err := m.Position(atlas.ID{Repo: "r", Name: "tree"})
	if want := (Position{"other", git("rev-parse", "other")}); err != nil || got != want {
		t.Errorf("Position of a worktree = %+v, %v; want %+v", got, err, want)
	}
}

func TestADetachedHeadWantsAnExplicitTarget(t *testing.T) {
	t.Parallel()
	id := atlas.ID{Repo: "r", Name: "w"}
	for name, script := range map[string]string{
		"detached":            commits + "git switch -q --detach work",
		"rebased as detached": commits + "git switch -q --detach work; ! git rebase main 2>&1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, git := checkout(t, script)
			_, err := m.Position(id)
			var e *api.Error
			if !errors.As(err, &e) || e.Reason != "detached_head" || !strings.Contains(e.Hint, "give pr or ref") || !strings.Contains(e.Message, git("rev-parse", "HEAD")) {
				t.Errorf("Position on a detached HEAD = %v, want detached_head with the sha and a word about pr and ref", err)
			}
		})
	}
}
