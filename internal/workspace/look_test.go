package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/workspace"
)

func TestRemoveSeesWorkThatNoBranchHolds(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.git(t, f.origin, "checkout", "-q", "--detach")
	f.commit(t, f.origin, "release", "1\n")
	f.git(t, f.origin, "tag", "-a", "-m", "1", "v1") // held by no branch of the remote
	f.git(t, f.origin, "checkout", "-q", "main")
	loose := func(t *testing.T, f *fleet, dir string) string {
		f.git(t, dir, "checkout", "-q", "--detach")
		f.commit(t, dir, "file", filepath.Base(dir)) // so that no two cases make the same commit
		commit := f.git(t, dir, "rev-parse", "HEAD")
		f.git(t, dir, "checkout", "-q", "main")
		return commit
	}
	for what, c := range map[string]unsaved{
		"the remote's tags": {func(*testing.T, *fleet, string) {}, ""},
		"a tag":             {func(t *testing.T, f *fleet, dir string) { f.git(t, dir, "tag", "mine", loose(t, f, dir)) }, "1 commit that only a tag holds"},
		"a tag with a text, packed": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "tag", "-a", "-m", "x", "mine", loose(t, f, dir))
			f.git(t, dir, "pack-refs", "--all")
		}, "1 commit that only a tag holds"},
		"a tag, and the remote is away": {func(t *testing.T, f *fleet, dir string) {
			f.atlas.Repos["r"] = atlas.Repo{URL: f.origin + "-away", Forge: "none"}
			t.Cleanup(func() { f.atlas.Repos["r"] = atlas.Repo{URL: f.origin, Forge: "none"} })
		}, "1 commit that only a tag holds"},
		"a pushed tag": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "tag", "pushed", loose(t, f, dir))
			f.git(t, dir, "push", "-q", "origin", "pushed")
			t.Cleanup(func() { f.git(t, f.origin, "tag", "-d", "pushed") })
		}, ""},
		"a note":        {func(t *testing.T, f *fleet, dir string) { f.git(t, dir, "notes", "add", "-m", "x") }, "1 commit of git notes"},
		"another ref":   {func(t *testing.T, f *fleet, dir string) { f.git(t, dir, "update-ref", "refs/x/y", loose(t, f, dir)) }, "1 commit that only an unusual ref holds"},
		"a tag on HEAD": {func(t *testing.T, f *fleet, dir string) { f.git(t, dir, "tag", "here") }, ""},
		"a repository in an ignored folder": {func(t *testing.T, f *fleet, dir string) {
			write(t, dir+"/.git/info/exclude", "build\n")
			f.git(t, dir, "init", "-q", "build/in\nner")
			f.commit(t, dir+"/build/in\nner", "x", "x")
		}, "the repository build/inner"},
		"a worktree's .git file in an ignored folder": {func(t *testing.T, f *fleet, dir string) {
			write(t, dir+"/.git/info/exclude", "build\n")
			write(t, dir+"/build/.git", "gitdir: /elsewhere\n")
		}, "the repository build"},
		"a bare repository in an ignored folder": {func(t *testing.T, f *fleet, dir string) {
			write(t, dir+"/.git/info/exclude", "build\n")
			f.git(t, dir, "init", "-q", "--bare", "build/bare")
		}, "the repository build/bare"},
		"many repositories": {func(t *testing.T, f *fleet, dir string) {
			for i := range 5 {
				f.git(t, dir, "init", "-q", fmt.Sprint("n", i))
			}
		}, "the repository n0, the repository n1, the repository n2 and 2 more"},
		"what a submodule left behind": {func(t *testing.T, f *fleet, dir string) {
			f.git(t, dir, "init", "-q", "--bare", ".git/modules/sub")
		}, "the repository .git/modules/sub"},
		"a tree that is too deep": {func(t *testing.T, _ *fleet, dir string) {
			if err := os.MkdirAll(dir+strings.Repeat("/d", 300), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "cannot be told"},
	} {
		t.Run(what, func(t *testing.T) { c.check(t, f, f.checkout(t, "r/"+what)) })
	}
}

func TestALookCopiesSoMuchAndNoMore(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	dir := w.Dir(f.root) + "/.git/"
	f.git(t, w.Dir(f.root), "update-index", "--split-index")
	for i := range 40 { // no index names them
		sparse(t, fmt.Sprintf("%ssharedindex.%040d", dir, i), 600<<20)
	}
	write(t, w.Dir(f.root)+"/file", "two\n")
	if err := f.Remove(t.Context(), w, false); err == nil || !strings.Contains(err.Error(), "1 uncommitted change") {
		t.Errorf("Remove with shared indexes that nobody names: %v, want the change", err)
	}
	names, _ := filepath.Glob(dir + "sharedindex.*")
	for _, n := range names {
		sparse(t, n, 200<<20)
	}
	sparse(t, dir+"packed-refs", 60<<20)
	err := f.Remove(t.Context(), w, false)
	wantError(t, "Remove", err, api.Conflict, "unknown_work", "--force")
	if err == nil || !strings.Contains(err.Error(), "would have to be copied") {
		t.Errorf("Remove: %v, want that it is too much", err)
	}
	for _, n := range names {
		sparse(t, n, 600<<20)
	}
	if err := f.Remove(t.Context(), w, false); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("Remove with a large shared index: %v, want that it is too much", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Remove(ctx, w, false); err == nil {
		t.Error("Remove went on after its caller left")
	}
	if left, _ := filepath.Glob(atlas.Temp(f.root) + "/look-*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = file.Truncate(size)
	}
	if cerr := file.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

// TestALookThatWasKilledIsSweptAndHoldsNoConfiguration looks at a shadow while git is at work.
func TestALookThatWasKilledIsSweptAndHoldsNoConfiguration(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	f.git(t, w.Dir(f.root), "remote", "add", "secret", "https://user:hunter2@localhost/x.git")
	copied := filepath.Join(f.home, "copied")
	slow := t.TempDir()
	script := "#!/bin/sh\nPATH=" + os.Getenv("PATH") + "\ncase \"$*\" in *status*) cp -R \"$GIT_DIR\" " + copied + ";; esac\nexec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(slow, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", slow+":"+os.Getenv("PATH"))
	write(t, w.Dir(f.root)+"/file", "two\n")
	if err := f.Remove(t.Context(), w, false); err == nil {
		t.Fatal("Remove lost a change")
	}
	entries, err := os.ReadDir(copied)
	if err != nil || len(entries) == 0 {
		t.Fatalf("git saw no shadow: %v", err)
	}
	for _, e := range entries {
		if raw, err := os.ReadFile(filepath.Join(copied, e.Name())); err == nil && strings.Contains(string(raw), "hunter2") {
			t.Errorf("%s holds a credential", e.Name())
		}
	}
	left := filepath.Join(atlas.Temp(f.root), "look-123")
	write(t, filepath.Join(left, "index"), "x")
	if st, err := os.Stat(atlas.Temp(f.root)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder of looks: %v, %v; want it private", st, err)
	}
	f.open(t)
	if _, err := os.Lstat(left); err == nil {
		t.Error("the next ship left it")
	}
}

func TestATakenFolderUnderTmpIsTold(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(path string) error{
		"another's": func(path string) error { return os.Chown(path, 12345, 12345) },
		"open":      func(path string) error { return os.Chmod(path, 0o755) },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFleet(t)
			w := f.checkout(t, "r/a")
			path, err := atlas.MakeTempSockets(f.root, w)
			if err != nil {
				t.Fatal(err)
			}
			if err := take(path); err != nil {
				t.Skip(err)
			}
			_, err = f.Activate(t.Context(), w, workspace.ActivateOptions{Command: []string{"sleep", "60"}})
			wantError(t, "Activate", err, api.Unavailable, "temp_folder", "ls -ld")
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("Activate: %v, want the path and what is wrong with it", err)
			}
		})
	}
}
