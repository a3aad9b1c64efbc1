package promises_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/process"
)

// TestNoSecretIsEverInAnArgumentList looks at every argument list of the machine while a ship starts
// and workspaces are activated, and at those of tmux and git, which live too short to be sure to be
// seen, through programs in front of them that write their arguments down.
func TestNoSecretIsEverInAnArgumentList(t *testing.T) {
	needsProc(t)
	t.Parallel()
	f := newFleet(t)
	f.env = recording(t, f, "tmux", "git")
	f.env = append(f.env, "PROMISE_SECRET=argv-secret-value")
	secret := regexp.MustCompile(`fleet_[A-Za-z0-9_-]{43}|argv-secret-value`)
	w := process.WatchArguments(t, secret)
	f.serve(t)
	tokens := map[string]bool{}
	f.must(t, "create", "r/one")
	for range 5 {
		f.must(t, "activate", "r/one", "--env", "PROMISE_SECRET", "--", "sleep", "1000")
		tokens[f.token(t, "one")] = true
		f.must(t, "token", "rotate", "r/one")
		tokens[f.token(t, "one")] = true
		f.must(t, "deactivate", "r/one")
	}
	for match, where := range w.Stop() {
		// Others on the machine may have tokens of their own in their arguments.
		if tokens[match] || match == "argv-secret-value" {
			t.Errorf("a secret is an argument in %q", where)
		}
	}
	recorded := f.shell(t, f.dir, "cat args.*")
	if !strings.Contains(recorded, "source-file") || !strings.Contains(recorded, "clone") {
		t.Fatalf("the recorded arguments of tmux and git are %q, want source-file and clone among them", recorded)
	}
	if found := secret.FindAllString(recorded, -1); len(tokens) != 10 || len(found) > 0 {
		t.Errorf("%d tokens, want 10; and %d secrets among the arguments of tmux and git, want none", len(tokens), len(found))
	}
}

// recording gives an environment in which the named programs write their arguments to args.NAME
// before they do their work.
func recording(t *testing.T, f *fleet, names ...string) []string {
	t.Helper()
	bin := f.mkdir(t, "recorders")
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>'%s'\nexec '%s' \"$@\"\n", filepath.Join(f.dir, "args."+name), path)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return pathFirst(f.env, bin)
}

// pathFirst is env with dir in front of its PATH.
func pathFirst(env []string, dir string) []string {
	env = slices.Clone(env)
	for i, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			env[i] = "PATH=" + dir + ":" + path
		}
	}
	return env
}
