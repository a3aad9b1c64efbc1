package workspace_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/workspace"
)

// hostileConfig makes git run the agent's program at every chance that its manual names.
const hostileConfig = `
[core]
	fsmonitor = TRAP fsmonitor
	sshCommand = TRAP ssh
	hooksPath = HOOKS
	editor = TRAP editor
	pager = TRAP pager
	askPass = TRAP askpass
	gitProxy = TRAP proxy
	alternateRefsCommand = TRAP alternates
	attributesFile = ATTRIBUTES
[filter "trap"]
	clean = TRAP clean
	smudge = TRAP smudge
	process = TRAP process
	required = true
[diff "trap"]
	textconv = TRAP textconv
	command = TRAP diff
[diff]
	external = TRAP external
[merge "trap"]
	driver = TRAP merge
[alias]
	status = !TRAP alias
	ls-files = !TRAP alias
	rev-list = !TRAP alias
[credential]
	helper = !TRAP credential
[gpg]
	program = TRAP gpg
[log]
	showSignature = true
[pager]
	status = TRAP pager
	rev-list = TRAP pager
[remote "origin"]
	uploadpack = TRAP uploadpack
	receivepack = TRAP receivepack
	vcs = trap
	promisor = true
[extensions]
	partialClone = origin
	worktreeConfig = true
[submodule "sub"]
	update = !TRAP submodule
[uploadpack]
	packObjectsHook = TRAP pack
[trace2]
	eventTarget = TRACE
`

// trap makes the checkout hostile: whatever git starts for it leaves its name in caught.
func (f *fleet) trap(t *testing.T, dir string) (caught string) {
	t.Helper()
	caught = filepath.Join(f.home, "caught")
	script := filepath.Join(f.home, "trap")
	write(t, script, "#!/bin/sh\nmkdir -p "+caught+"\ntouch "+caught+"/$(basename \"$0\")-\"$1\"\n")
	hooks := filepath.Join(dir, ".git", "hooks")
	for _, h := range []string{
		"post-checkout", "post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction", "post-merge",
		"pre-auto-gc", "post-rewrite", "pre-push", "proc-receive", "update", "post-update", "pre-receive", "post-receive",
	} {
		write(t, filepath.Join(hooks, h), "#!/bin/sh\nexec "+script+" hook\n")
		if err := os.Chmod(filepath.Join(hooks, h), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer("TRAP", script, "HOOKS", hooks, "ATTRIBUTES", filepath.Join(dir, ".git", "attributes"),
		"INCLUDED", filepath.Join(dir, ".git", "included"), "TRACE", filepath.Join(caught, "trace")).Replace(hostileConfig)
	for _, name := range []string{"included", "config.worktree", "config"} {
		appendTo(t, filepath.Join(dir, ".git", name), config)
		config += "[include]\n\tpath = included\n[includeIf \"gitdir:**\"]\n\tpath = included\n"
	}
	write(t, filepath.Join(dir, ".git", "attributes"), "* filter=trap diff=trap merge=trap\n")
	write(t, filepath.Join(dir, ".git", "info", "attributes"), "* filter=trap diff=trap merge=trap\n")
	write(t, filepath.Join(dir, ".gitattributes"), "* filter=trap diff=trap merge=trap ident\n")
	// git looks into files whose times changed.
	write(t, filepath.Join(dir, "file"), "one!\n")
	return caught
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(file, text)
	if cerr := file.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

// TestNothingOfAHostileWorkspaceRuns does with a hostile workspace all that a ship does.
func TestNothingOfAHostileWorkspaceRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	w := f.checkout(t, "r/hostile")
	tree := id(t, "r/tree")
	f.git(t, w.Dir(f.root), "worktree", "add", "-q", "-b", "side", tree.Dir(f.root))
	f.git(t, tree.Dir(f.root), "commit", "-q", "--allow-empty", "-m", "work")
	caught := f.trap(t, w.Dir(f.root))

	plain := exec.Command("git", "-C", w.Dir(f.root), "status")
	plain.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.home}
	said, _ := plain.CombinedOutput()
	if _, err := os.Stat(caught); err != nil {
		t.Fatal("a plain git status sprang no trap, so this test shows nothing: ", string(said))
	}
	if err := os.RemoveAll(caught); err != nil {
		t.Fatal(err)
	}

	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if names, _ := filepath.Glob(caught + "/*"); len(names) > 0 {
			t.Errorf("%s ran %q", what, names)
		}
	}
	f.open(t)
	list, err := f.List(ctx)
	must("List", err)
	if len(list) != 2 || list[0].Head == nil {
		t.Errorf("List = %+v, want the hostile one and its worktree", list)
	}
	_, err = f.Create(ctx, id(t, "r/sibling"), workspace.CreateOptions{Branch: "b"}, nil)
	must("Create", err)
	_, err = f.Activate(ctx, w, workspace.ActivateOptions{Command: []string{"sleep", "60"}})
	must("Activate", err)
	_, err = f.Capture(ctx, w, 10)
	must("Capture", err)
	must("Rotate", f.Rotate(ctx, w))
	_, err = f.Deactivate(ctx, w)
	must("Deactivate", err)
	for _, v := range []string{"r/hostile", "r/tree"} {
		err := f.Remove(ctx, id(t, v), false)
		if err == nil {
			t.Errorf("Remove of %s lost work", v)
		}
		must("Remove", nil)
	}
	must("Remove with force", f.Remove(ctx, tree, true))
	must("Remove with force", f.Remove(ctx, w, true))
}
