package workspace_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/e2e/process"
	"fleet/internal/workspace"
)

// odd are things that are neither a file nor a directory, and how each is made at a path.
var odd = map[string]func(t *testing.T, path string){
	"pipe": func(t *testing.T, path string) { mkfifo(t, path) },
	"socket": func(t *testing.T, path string) {
		// A socket's path must be short.
		short := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", short)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		if err := os.Rename(short, path); err != nil {
			t.Fatal(err)
		}
	},
	"device": func(t *testing.T, path string) {
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|3); err != nil {
			t.Skipf("no device can be made here: %v", err)
		}
	},
	"link to a pipe": func(t *testing.T, path string) {
		mkfifo(t, path+"-pipe")
		if err := os.Symlink(filepath.Base(path)+"-pipe", path); err != nil {
			t.Fatal(err)
		}
	},
}

// soon holds f to an end within some seconds.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end", what)
	}
}

// keep moves the checkouts of r away; what it gives puts them back as they were, until its test ends.
func (f *fleet) keep(t *testing.T) (anew func(t *testing.T)) {
	t.Helper()
	checkouts, kept := filepath.Join(f.root, "r"), filepath.Join(f.home, "kept")
	if err := os.Rename(checkouts, kept); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) {
		t.Helper()
		t.Cleanup(func() { removeAll(t, checkouts) })
		if out, err := exec.Command("cp", "-Rp", kept, checkouts).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
}

func TestNothingInADirectorysPlaceIsWaitedFor(t *testing.T) {
	t.Parallel()
	places := map[string]func(dir, tree string) string{
		".git/refs":                 func(dir, _ string) string { return dir + "/.git/refs" },
		".git/refs/heads":           func(dir, _ string) string { return dir + "/.git/refs/heads" },
		".git/objects":              func(dir, _ string) string { return dir + "/.git/objects" },
		".git/info":                 func(dir, _ string) string { return dir + "/.git/info" },
		".git/logs":                 func(dir, _ string) string { return dir + "/.git/logs" },
		".git/worktrees":            func(dir, _ string) string { return dir + "/.git/worktrees" },
		"a worktree's own":          func(dir, tree string) string { return dir + "/.git/worktrees/" + filepath.Base(tree) },
		"a worktree's repository":   func(dir, _ string) string { return dir + "/.git" },
		"rebase-merge":              func(dir, _ string) string { return dir + "/.git/rebase-merge" },
		"a worktree's rebase":       func(dir, tree string) string { return dir + "/.git/worktrees/" + filepath.Base(tree) + "/rebase-apply" },
		"the checkout":              func(dir, _ string) string { return dir },
		"the checkouts of the repo": func(dir, _ string) string { return filepath.Dir(dir) },
	}
	for kind, put := range odd {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			w, tree := f.checkout(t, "r/a"), id(t, "r/tree")
			f.git(t, w.Dir(f.root), "worktree", "add", "-q", "-b", "side", tree.Dir(f.root))
			f.git(t, w.Dir(f.root), "checkout", "-q", "--detach")
			anew := f.keep(t)
			for where, place := range places {
				t.Run("for "+where, func(t *testing.T) {
					anew(t)
					path := place(w.Dir(f.root), tree.Dir(f.root))
					if err := os.RemoveAll(path); err != nil {
						t.Fatal(err)
					}
					put(t, path)
					soon(t, "a look", func() {
						whole := kind == "pipe" // the others are refused the same way, so their cases are shorter
						if whole {
							f.open(t)
						}
						if _, err := f.List(t.Context()); err != nil {
							t.Errorf("List: %v", err)
						}
						for _, v := range []string{"r/a", "r/tree"} {
							v := id(t, v)
							_, _ = f.Get(t.Context(), v)
							_, _ = f.Position(v)
							_ = f.Remove(t.Context(), v, false)
							if !whole {
								continue
							}
							if _, err := f.Activate(t.Context(), v, workspace.ActivateOptions{Command: []string{"sleep", "60"}}); err == nil {
								_, _ = f.Deactivate(t.Context(), v)
							}
							_ = f.Remove(t.Context(), v, true)
						}
					})
				})
			}
		})
	}
}

func TestWhatGitWouldWaitForIsNamed(t *testing.T) {
	t.Parallel()
	places := []string{
		".git/refs/heads/x", ".git/refs/tags/deep/x", ".git/objects/info/alternates", ".git/objects/pack/x.idx", ".git/objects/00/x",
		".git/info/exclude", ".git/packed-refs", ".git/index", ".git/config", ".gitignore", "deep/.gitignore", ".gitattributes", ".gitmodules",
	}
	for kind, put := range odd {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			w := f.checkout(t, "r/a")
			anew := f.keep(t)
			for _, place := range places {
				if kind == "link to a pipe" && (place == ".gitignore" || place == "deep/.gitignore" || place == ".gitattributes") {
					continue // git reads no link there
				}
				t.Run("for "+place, func(t *testing.T) {
					anew(t)
					path := filepath.Join(w.Dir(f.root), place)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					os.Remove(path)
					put(t, path)
					soon(t, "Remove", func() {
						err := f.Remove(t.Context(), w, false)
						wantError(t, "Remove", err, api.Conflict, "unknown_work", "--force")
						if err != nil && !strings.Contains(err.Error(), filepath.Base(place)) {
							t.Errorf("Remove: %v, want the name of %s", err, place)
						}
					})
				})
			}
		})
	}
}

func TestALookThatTakesTooLongSaysSo(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	w := f.checkout(t, "r/a")
	slow := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *status*) sleep 60;; esac\nPATH=" + os.Getenv("PATH") + "\nexec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(slow, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", slow+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	soon(t, "Remove", func() {
		err := f.Remove(ctx, w, false)
		wantError(t, "Remove", err, api.Conflict, "unknown_work", "--force")
		if err == nil || !strings.Contains(err.Error(), "took too long") {
			t.Errorf("Remove: %v, want that it took too long", err)
		}
	})
}
