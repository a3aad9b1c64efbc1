package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/e2e/process"
)

// farPast is no time at which a test made a file.
var farPast = time.Unix(1_000_000_000, 0)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestListShowsEveryCheckoutInOrder(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for _, name := range []string{"r/b", "r/a", "r/é b", "a/z", "r/a-b"} {
		f.checkout(t, name)
	}
	// None of these is a workspace.
	f.git(t, f.root, "clone", "-q", f.origin, filepath.Join(f.root, "shallow"))
	f.git(t, f.root, "clone", "-q", f.origin, filepath.Join(f.root, "r", "deep", "er"))
	f.git(t, f.root, "clone", "-q", f.origin, filepath.Join(f.root, ".hidden", "x"))
	write(t, filepath.Join(f.root, "r", "plain", "file"), "")
	outside := filepath.Join(f.home, "out")
	f.git(t, f.root, "clone", "-q", f.origin, outside)
	for _, link := range []string{"r/link", "linked"} {
		if err := os.Symlink(outside, filepath.Join(f.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range list {
		names = append(names, w.Repo+"/"+w.Name)
		if w.Active || w.InactiveReason == nil || *w.InactiveReason != api.InactiveNeverActivated || *w.Branch != "main" || w.Observed != (api.Observed{}) {
			t.Errorf("List shows %+v", w)
		}
	}
	if got := strings.Join(names, ", "); got != "a/z, r/a, r/a-b, r/b, r/é b" {
		t.Errorf("List shows %s", got)
	}
}

func TestBranchAndCommitAreReadAsFiles(t *testing.T) {
	t.Parallel()
	const commit = "0123456789012345678901234567890123456789"
	cases := map[string]struct {
		make         func(t *testing.T, f *fleet, git string)
		branch, head string
	}{
		"a branch":        {func(*testing.T, *fleet, string) {}, "main", "HEAD"},
		"a packed branch": {func(t *testing.T, f *fleet, git string) { f.git(t, git, "pack-refs", "--all") }, "main", "HEAD"},
		"a branch with slashes": {func(t *testing.T, f *fleet, git string) {
			f.git(t, git, "symbolic-ref", "HEAD", "refs/heads/a/é")
			write(t, git+"/refs/heads/a/é", commit+"\n")
		}, "a/é", commit},
		"a detached HEAD":       {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", commit+"\n") }, "", commit},
		"no commit yet":         {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", "ref: refs/heads/new\n") }, "new", ""},
		"SHA-256":               {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", commit+commit[:24]+"\n") }, "", commit + commit[:24]},
		"refs in tables":        {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", "ref: refs/heads/.invalid\n") }, "", ""},
		"rubbish":               {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", "hello\n") }, "", ""},
		"a huge HEAD":           {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", strings.Repeat("a", 1<<20)) }, "", ""},
		"a branch with escapes": {func(t *testing.T, _ *fleet, git string) { write(t, git+"/HEAD", "ref: refs/heads/a\x1b[31m\n") }, "", ""},
		"a branch that climbs": {func(t *testing.T, _ *fleet, git string) {
			write(t, git+"/HEAD", "ref: refs/heads/../../../../secret\n")
		}, "", ""},
		"a ref that is a secret":  {func(t *testing.T, _ *fleet, git string) { write(t, git+"/refs/heads/main", "password\n") }, "main", ""},
		"a ref that is too short": {func(t *testing.T, _ *fleet, git string) { write(t, git+"/refs/heads/main", "abc123\n") }, "main", ""},
		"a ref behind a symlink": {func(t *testing.T, f *fleet, git string) {
			write(t, f.home+"/commit", commit+"\n")
			os.Remove(git + "/refs/heads/main")
			os.Symlink(f.home+"/commit", git+"/refs/heads/main")
		}, "main", ""},
		"refs behind a symlink": {func(t *testing.T, f *fleet, git string) {
			write(t, f.home+"/refs/heads/main", commit+"\n")
			os.RemoveAll(git + "/refs")
			os.Symlink(f.home+"/refs", git+"/refs")
		}, "main", ""},
		"a HEAD behind a symlink": {func(t *testing.T, f *fleet, git string) {
			write(t, f.home+"/HEAD", commit+"\n")
			os.Remove(git + "/HEAD")
			os.Symlink(f.home+"/HEAD", git+"/HEAD")
		}, "", ""},
		"a pipe for HEAD": {func(t *testing.T, _ *fleet, git string) { os.Remove(git + "/HEAD"); mkfifo(t, git+"/HEAD") }, "", ""},
		"a pipe for a ref": {func(t *testing.T, _ *fleet, git string) {
			os.Remove(git + "/refs/heads/main")
			mkfifo(t, git+"/refs/heads/main")
		}, "main", ""},
		"a pipe for packed refs": {func(t *testing.T, _ *fleet, git string) {
			os.Remove(git + "/refs/heads/main")
			os.Remove(git + "/packed-refs")
			mkfifo(t, git+"/packed-refs")
		}, "main", ""},
	}
	f := newFleet(t)
	for what, c := range cases {
		w := f.checkout(t, "r/"+what)
		git := filepath.Join(w.Dir(f.root), ".git")
		if c.head == "HEAD" {
			c.head = f.git(t, git, "rev-parse", "HEAD")
		}
		c.make(t, f, git)
		got := f.get(t, w)
		if branch, head := text(got.Branch), text(got.Head); branch != c.branch || head != c.head {
			t.Errorf("%s: branch %q at %q, want %q at %q", what, branch, head, c.branch, c.head)
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestListAsksNeitherTmuxNorGit takes both away.
func TestListAsksNeitherTmuxNorGit(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	for i := range 20 {
		f.checkout(t, fmt.Sprintf("r/w%d", i))
	}
	t.Setenv("PATH", "/nonexistent")
	list, err := f.List(t.Context())
	if err != nil || len(list) != 20 || list[0].Branch == nil {
		t.Errorf("List = %d workspaces, %v; want 20 with their branches", len(list), err)
	}
}
