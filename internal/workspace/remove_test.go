package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/workspace"
)

// unsaved is a piece of work in a checkout, and what Remove says of it.
type unsaved struct {
	work func(t *testing.T, f *fleet, dir string)
	want string // in the message; empty: nothing would be lost
}

func (c unsaved) check(t *testing.T, f *fleet, w atlas.ID) {
	c.work(t, f, w.Dir(f.root))
	err := f.Remove(t.Context(), w, false)
	_, stat := os.Stat(w.Dir(f.root))
	if c.want == "" {
		if err != nil || stat == nil {
			t.Errorf("Remove: %v, directory there: %t; want it gone", err, stat == nil)
		}
		return
	}
	reason := "unsaved_work"
	if c.want == "cannot be told" {
		reason = "unknown_work"
	}
	wantError(t, "Remove", err, api.Conflict, reason, "ship remove --force "+w.Shell())
	if err == nil || !strings.Contains(err.Error(), c.want) || stat != nil {
		t.Errorf("Remove: %v, directory there: %t; want it kept for %q", err, stat == nil, c.want)
	}
	if err := f.Remove(t.Context(), w, true); err != nil {
		t.Errorf("Remove with force: %v", err)
	}
	if _, err := os.Lstat(w.Dir(f.root)); err == nil {
		t.Error("Remove with force left the directory")
	}
}

func TestRemoveRefusesToLoseWork(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for what, c := range map[string]unsaved{
		"nothing": {func(*testing.T, *fleet, string) {}, ""},
		"a pushed commit": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "checkout", "-q", "-b", "b")
			f.commit(t, dir, "new", "x")
			f.git(t, dir, "push", "-q", "origin", "b")
		}, ""},
		"a changed file":   {func(t *testing.T, _ *fleet, dir string) { write(t, dir+"/file", "two\n") }, "1 uncommitted change"},
		"a deleted file":   {func(t *testing.T, _ *fleet, dir string) { os.Remove(dir + "/file") }, "1 uncommitted change"},
		"a staged file":    {func(t *testing.T, f *fleet, dir string) { write(t, dir+"/n w", ""); f.git(t, dir, "add", ".") }, "1 uncommitted change"},
		"untracked files":  {func(t *testing.T, _ *fleet, dir string) { write(t, dir+"/é", ""); write(t, dir+"/x/y", "") }, "2 untracked files"},
		"a commit on HEAD": {func(t *testing.T, f *fleet, dir string) { f.commit(t, dir, "file", "two\n") }, "1 commit that is on no remote"},
		"commits elsewhere": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "checkout", "-q", "-b", "side")
			f.commit(t, dir, "file", "two\n")
			f.commit(t, dir, "file", "three\n")
			f.git(t, dir, "checkout", "-q", "main")
			f.git(t, dir, "pack-refs", "--all")
		}, "2 commits that are on no remote"},
		"a commit on a detached HEAD": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "checkout", "-q", "--detach")
			f.commit(t, dir, "file", "two\n")
		}, "1 commit that is on no remote"},
		"stashes": {func(t *testing.T, f *fleet, dir string) {
			for _, text := range []string{"two\n", "three\n"} {
				write(t, dir+"/file", text)
				f.git(t, dir, "stash", "-q")
			}
		}, "2 stashes"},
		"several kinds": {
			func(t *testing.T, f *fleet, dir string) {
				f.commit(t, dir, "file", "two\n")
				write(t, dir+"/file", "three\n")
				write(t, dir+"/x", "")
			},
			"1 uncommitted change and 1 untracked file, 1 commit that is on no remote",
		},
	} {
		t.Run(what, func(t *testing.T) { c.check(t, f, f.checkout(t, "r/"+what)) })
	}
}

func TestRemoveIsNotDeceivedByHowACheckoutIsKept(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for what, c := range map[string]unsaved{
		"an ignored file": {func(t *testing.T, _ *fleet, dir string) {
			write(t, dir+"/.git/info/exclude", "*.o\n")
			write(t, dir+"/x.o", "")
		}, ""},
		"a stash in packed refs": {func(t *testing.T, f *fleet, dir string) {
			write(t, dir+"/file", "two\n")
			f.git(t, dir, "stash", "-q")
			f.git(t, dir, "pack-refs", "--all")
		}, "1 stash"},
		"a change hidden from git status": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "update-index", "--assume-unchanged", "file")
			write(t, dir+"/file", "two\n")
		}, "1 uncommitted change"},
		"a change hidden from git by other means": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "update-index", "--skip-worktree", "file")
			write(t, dir+"/file", "two\n")
		}, "1 uncommitted change"},
		"a file left out of the tree": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "update-index", "--skip-worktree", "file")
			os.Remove(dir + "/file")
		}, ""},
		"a split index": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "update-index", "--split-index")
			write(t, dir+"/file", "two\n")
		}, "1 uncommitted change"},
		"a split index, unchanged": {func(t *testing.T, f *fleet, dir string) { f.git(t, dir, "update-index", "--split-index") }, ""},
		"line ends that git converts": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "checkout", "-q", "-b", "crlf")
			write(t, dir+"/.gitattributes", "*.txt text eol=crlf\n")
			write(t, dir+"/a.txt", "a\r\nb\r\n")
			f.git(t, dir, "add", ".")
			f.git(t, dir, "commit", "-q", "-m", "crlf")
			f.git(t, dir, "push", "-q", "origin", "crlf")
			os.Chtimes(dir+"/a.txt", farPast, farPast) // so that the content is looked at
		}, ""},
		"a filled submodule": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "-c", "protocol.file.allow=always", "submodule", "-q", "add", f.origin, "sub")
			f.git(t, dir, "commit", "-q", "-m", "sub")
			f.git(t, dir, "push", "-q", "origin", "HEAD:refs/heads/sub")
		}, "1 checked out submodule"},
		"the repository of a worktree": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "worktree", "add", "-q", "-b", "tree", dir+"-tree")
		}, "the repository of 1 worktree"},
		"no remote at all":          {func(t *testing.T, f *fleet, dir string) { f.git(t, dir, "remote", "remove", "origin") }, "1 commit that is on no remote"},
		"an index that is no index": {func(t *testing.T, _ *fleet, dir string) { write(t, dir+"/.git/index", "rubbish") }, "cannot be told"},
		"a pipe for a HEAD":         {func(t *testing.T, _ *fleet, dir string) { os.Remove(dir + "/.git/HEAD"); mkfifo(t, dir+"/.git/HEAD") }, "cannot be told"},
		"objects behind a symlink": {func(t *testing.T, _ *fleet, dir string) {
			os.Rename(dir+"/.git/objects", dir+"/.git/o")
			os.Symlink("o", dir+"/.git/objects")
		}, "cannot be told"},
	} {
		t.Run(what, func(t *testing.T) { c.check(t, f, f.checkout(t, "r/"+what)) })
	}
}

func TestRemoveSeesAChangeAsNewAsTheIndex(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for range 5 { // whether the change falls into the index's tick is chance
		w := f.checkout(t, "r/a")
		write(t, filepath.Join(w.Dir(f.root), "file"), "two\n") // as long as before
		if err := f.Remove(t.Context(), w, false); err == nil {
			t.Fatal("Remove lost a change made right after the checkout")
		}
		if err := f.Remove(t.Context(), w, true); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRemoveKeepsActiveWorkspaces(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.activate(t, w, workspace.ActivateOptions{})
	for _, force := range []bool{false, true} {
		wantError(t, "Remove", f.Remove(t.Context(), w, force), api.Conflict, "active", "ship deactivate r/a")
	}
	if !f.Active(w) || atlas.CheckWorkspace(f.root, w) != nil {
		t.Error("a refused Remove took something away")
	}
	wantError(t, "Remove of nothing", f.Remove(t.Context(), id(t, "r/none"), true), api.NotFound, "no_workspace", "ship ls")
}

func TestRemoveStaysInsideTheWorkspace(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	precious := filepath.Join(f.home, "precious", "file")
	write(t, precious, "x")
	if err := os.Chmod(filepath.Dir(precious), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Dir(precious), 0o700) })
	for _, name := range []string{"link", "deep/link"} {
		path := filepath.Join(w.Dir(f.root), name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.Symlink(filepath.Dir(precious), path); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(w.Dir(f.root), "cache", "mod", "file"), "x")
	for _, dir := range []string{"cache/mod", "cache"} { // as Go's module cache is
		if err := os.Chmod(filepath.Join(w.Dir(f.root), dir), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Remove(t.Context(), w, true); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	if st, err := os.Stat(filepath.Dir(precious)); err != nil || st.Mode().Perm() != 0o500 {
		t.Errorf("the directory behind a symlink: %v, %v", st, err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("a file behind a symlink: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(f.root, "r", "*")); len(names) > 0 || f.events.of(w) != "removed" {
		t.Errorf("left behind: %q; events: %s", names, f.events.of(w))
	}
}

func TestAWorktreeOfASiblingIsAWorkspace(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	clone, tree := f.checkout(t, "r/a"), id(t, "r/tree")
	f.git(t, clone.Dir(f.root), "worktree", "add", "-q", "-b", "side", tree.Dir(f.root))
	f.commit(t, tree.Dir(f.root), "file", "two\n")
	got := f.get(t, tree)
	if got.Branch == nil || *got.Branch != "side" || got.Head == nil || *got.Head != f.git(t, tree.Dir(f.root), "rev-parse", "HEAD") {
		t.Errorf("Get = %+v, want the branch side and its commit", got)
	}
	err := f.Remove(t.Context(), tree, false)
	if err == nil || !strings.Contains(err.Error(), "1 commit that is on no remote") {
		t.Errorf("Remove of a worktree with a commit: %v", err)
	}
	f.git(t, tree.Dir(f.root), "push", "-q", "origin", "side")
	if err := f.Remove(t.Context(), tree, false); err != nil {
		t.Errorf("Remove: %v", err)
	}
}

func TestAGitFileThatPointsElsewhereIsNotFollowed(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	sibling := f.checkout(t, "other/a")
	f.git(t, sibling.Dir(f.root), "worktree", "add", "-q", "-b", "side", filepath.Join(f.home, "tree"))
	foreign := filepath.Join(f.home, "foreign")
	f.git(t, "/", "clone", "-q", f.origin, foreign)
	for what, target := range map[string]string{
		"outside":      filepath.Join(foreign, ".git"),
		"another repo": filepath.Join(sibling.Dir(f.root), ".git", "worktrees", "tree"),
		"not absolute": "../../../home/foreign/.git",
		"nowhere":      "/nonexistent",
		"nothing":      "",
	} {
		w := id(t, "r/"+what)
		write(t, filepath.Join(w.Dir(f.root), ".git"), "gitdir: "+target+"\n")
		if got := f.get(t, w); got.Branch != nil || got.Head != nil {
			t.Errorf("%s: Get = %+v, want neither branch nor commit", what, got)
		}
		wantError(t, what, f.Remove(t.Context(), w, false), api.Conflict, "unknown_work", "--force")
		if err := f.Remove(t.Context(), w, true); err != nil {
			t.Errorf("%s: Remove with force: %v", what, err)
		}
	}
	if atlas.CheckWorkspace(f.root, sibling) != nil {
		t.Error("the sibling is gone")
	}
}
