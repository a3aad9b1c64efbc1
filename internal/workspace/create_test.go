package workspace_test

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/e2e/process"
	"fleet/internal/e2e/talk"
	"fleet/internal/workspace"
)

func TestCreateClonesWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first := f.git(t, f.origin, "rev-parse", "HEAD")
	f.git(t, f.origin, "tag", "v1")
	f.commit(t, f.origin, "file", "two\n")
	second := f.git(t, f.origin, "rev-parse", "HEAD")
	f.git(t, f.origin, "branch", "feature/x", "v1")
	cases := map[string]struct {
		o              workspace.CreateOptions
		branch, commit string
		upstream       bool
	}{
		"nothing":                    {workspace.CreateOptions{}, "main", second, true},
		"a branch of the remote":     {workspace.CreateOptions{Branch: "feature/x"}, "feature/x", first, true},
		"a new branch":               {workspace.CreateOptions{Branch: "new"}, "new", second, false},
		"a new branch from a branch": {workspace.CreateOptions{Branch: "new", From: "feature/x"}, "new", first, false},
		"a new branch from a tag":    {workspace.CreateOptions{Branch: "new", From: "v1"}, "new", first, false},
		"a new branch from a commit": {workspace.CreateOptions{Branch: "new", From: first}, "new", first, false},
	}
	for what, c := range cases {
		w := id(t, "r/"+what)
		progress := &talk.Words{}
		got, err := f.Create(t.Context(), w, c.o, progress)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got.Active || got.Branch == nil || *got.Branch != c.branch || got.Head == nil || *got.Head != c.commit || got.Path != w.Dir(f.root) {
			t.Errorf("%s: Create = %+v, want branch %s at %s", what, got, c.branch, c.commit)
		}
		if status := f.git(t, got.Path, "status", "--porcelain", "--branch"); strings.Contains(status, "...origin/") != c.upstream || strings.Contains(status, "\n") {
			t.Errorf("%s: git status says %q; want a clean tree, with an upstream: %t", what, status, c.upstream)
		}
		if !strings.Contains(progress.String(), "Cloning into") || f.events.of(w) != "created" {
			t.Errorf("%s: progress %q, events %s", what, progress, f.events.of(w))
		}
	}
	if names, _ := filepath.Glob(filepath.Join(f.root, "r", ".*")); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}

func TestACloneHasNobodysHooks(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	template := filepath.Join(f.home, "template")
	write(t, filepath.Join(template, "hooks", "post-checkout"), "#!/bin/sh\n")
	write(t, filepath.Join(f.home, ".gitconfig"), "[init]\n\ttemplateDir = "+template+"\n")
	w := id(t, "r/a")
	if _, err := f.Create(t.Context(), w, workspace.CreateOptions{}, nil); err != nil {
		t.Fatalf("Create: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(w.Dir(f.root), ".git", "hooks", "*")); len(names) > 0 {
		t.Errorf("the clone has the hooks %q", names)
	}
}

func TestCreateFollowsTheAtlasDefaultBranch(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.git(t, f.origin, "branch", "trunk")
	f.atlas.Repos["r"] = atlas.Repo{URL: f.origin, Forge: "none", DefaultBranch: "trunk"}
	got, err := f.Create(t.Context(), id(t, "r/a"), workspace.CreateOptions{}, nil)
	if err != nil || *got.Branch != "trunk" {
		t.Errorf("Create = %+v, %v; want the branch trunk", got, err)
	}
}

func TestCreateOfAnEmptyRepository(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	empty := filepath.Join(f.home, "empty")
	f.git(t, "/", "init", "-q", "-b", "main", empty)
	f.atlas.Repos["r"] = atlas.Repo{URL: empty, Forge: "none"}
	for branch, want := range map[string]string{"": "main", "new": "new"} {
		got, err := f.Create(t.Context(), id(t, "r/b"+branch), workspace.CreateOptions{Branch: branch}, nil)
		if err != nil || got.Branch == nil || *got.Branch != want || got.Head != nil {
			t.Errorf("Create with branch %q = %+v, %v; want %s without a commit", branch, got, err, want)
		}
	}
}

func TestARefusedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for name, url := range map[string]string{
		"bad": "https://me:secret@localhost/x", "none": filepath.Join(f.home, "none"), "file": filepath.Join(f.origin, "file"),
		"closed": "http://127.0.0.1:1/x.git", "dash": "--upload-pack=touch /tmp/pwned", "helper": "ext::sh -c touch% /tmp/pwned", "link": f.origin,
	} {
		f.atlas.Repos[name] = atlas.Repo{URL: url, Forge: "none"}
	}
	if err := os.Symlink(f.home, filepath.Join(f.root, "link")); err != nil {
		t.Fatal(err)
	}
	f.checkout(t, "r/there")
	write(t, filepath.Join(f.root, "r", "file"), "")
	cases := map[string]struct {
		id           string
		o            workspace.CreateOptions
		code         api.Code
		reason, hint string
	}{
		"an unknown repo":                   {"unknown/a", workspace.CreateOptions{}, api.NotFound, "no_repo", "ship repo add unknown"},
		"a workspace that exists":           {"r/there", workspace.CreateOptions{}, api.Conflict, "exists", "ship activate r/there"},
		"a file in its place":               {"r/file", workspace.CreateOptions{}, api.Conflict, "exists", ""},
		"a password in the URL":             {"bad/a", workspace.CreateOptions{}, api.Invalid, "bad_url", "ship repo add bad URL"},
		"an option for a URL":               {"dash/a", workspace.CreateOptions{}, api.Invalid, "bad_url", ""},
		"a remote helper":                   {"helper/a", workspace.CreateOptions{}, api.Invalid, "bad_url", ""},
		"no repository at the path":         {"none/a", workspace.CreateOptions{}, api.NotFound, "no_remote_repository", "ship repo list"},
		"no repository in the file":         {"file/a", workspace.CreateOptions{}, api.Unavailable, "clone_failed", "git ls-remote"},
		"nobody listens":                    {"closed/a", workspace.CreateOptions{}, api.Unavailable, "clone_failed", "git ls-remote http://127.0.0.1:1/x.git"},
		"a repo behind a symlink":           {"link/a", workspace.CreateOptions{}, api.Conflict, "not_a_directory", ""},
		"--from alone":                      {"r/a", workspace.CreateOptions{From: "main"}, api.Invalid, "from_without_branch", "--branch"},
		"--from of what is not there":       {"r/a", workspace.CreateOptions{Branch: "b", From: "nope"}, api.NotFound, "no_ref", "git ls-remote"},
		"--from for a branch of the remote": {"r/a", workspace.CreateOptions{Branch: "main", From: "main"}, api.Conflict, "branch_exists", "--from"},
		"an option for a branch":            {"r/a", workspace.CreateOptions{Branch: "--orphan"}, api.Invalid, "bad_ref", ""},
		"an impossible branch":              {"r/a", workspace.CreateOptions{Branch: "a..b"}, api.Invalid, "bad_ref", "git help check-ref-format"},
		"an expression for a start":         {"r/a", workspace.CreateOptions{Branch: "b", From: "main~1"}, api.Invalid, "bad_ref", ""},
		"a branch that git refuses":         {"r/a", workspace.CreateOptions{Branch: "x.lock"}, api.Unavailable, "clone_failed", ""},
	}
	for what, c := range cases {
		_, err := f.Create(t.Context(), id(t, c.id), c.o, nil)
		wantError(t, what, err, c.code, c.reason, c.hint)
		if c.reason == "bad_ref" && !strings.Contains(err.Error(), strconv.Quote(cmp.Or(c.o.From, c.o.Branch))) {
			t.Errorf("%s: %v, want the name that is none", what, err)
		}
		if err != nil && strings.Contains(err.(*api.Error).Text(), "secret") {
			t.Errorf("%s: the error repeats the password: %v", what, err)
		}
	}
	var left []string
	for _, pattern := range []string{"*", "r/*"} {
		found, err := filepath.Glob(filepath.Join(f.root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			left = append(left, strings.TrimPrefix(path, f.root+"/"))
		}
	}
	if got := strings.Join(left, " "); got != ".ship link r r/file r/there" {
		t.Errorf("the atlas holds %s afterwards", got)
	}
	if len(f.events.events) > 0 {
		t.Errorf("events: %v", f.events.events)
	}
}

// TestACloneNeverAsks gives git every way to ask that there is.
func TestACloneNeverAsks(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(remote.Close)
	asked := filepath.Join(f.home, "asked")
	asker := filepath.Join(f.home, "asker")
	write(t, asker, "#!/bin/sh\ntouch "+asked+"\necho secret\n")
	if err := os.Chmod(asker, 0o700); err != nil {
		t.Fatal(err)
	}
	secretly := strings.Replace(remote.URL, "http://", "http://me:sesame@", 1)
	write(t, filepath.Join(f.home, ".gitconfig"), "[core]\n\taskPass = "+asker+"\n[url \""+secretly+"/private/\"]\n\tinsteadOf = "+remote.URL+"/masked/\n")
	f.env = append(f.env, "GIT_ASKPASS="+asker, "SSH_ASKPASS="+asker, "SSH_ASKPASS_REQUIRE=force", "GIT_TERMINAL_PROMPT=1", "DISPLAY=:0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.askPass", "GIT_CONFIG_VALUE_0="+asker)
	f.open(t)
	for _, path := range []string{"/plain/x.git", "/masked/x.git"} {
		f.atlas.Repos["r"] = atlas.Repo{URL: remote.URL + path, Forge: "none"}
		progress := &talk.Words{}
		_, err := f.Create(t.Context(), id(t, "r/a"), workspace.CreateOptions{}, progress)
		wantError(t, "Create from "+path, err, api.Unauthenticated, "credentials_needed", "credential helper")
		if text := err.(*api.Error).Text() + progress.String(); strings.Contains(text, "sesame") {
			t.Errorf("a password is repeated: %s", text)
		}
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("git asked a program for a password")
	}
}

// TestWhatGitSaysIsCleaned lets a git speak that repeats a password and draws on the terminal.
func TestWhatGitSaysIsCleaned(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	f := newFleet(t)
	dir := t.TempDir()
	const script = "#!/bin/sh\nprintf 'remote: \\033[2Jhello\\rfatal: cannot reach https://me:sesame@localhost/x\\n' >&2\nexit 128\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	progress := &talk.Words{}
	_, err := f.Create(t.Context(), id(t, "r/a"), workspace.CreateOptions{}, progress)
	wantError(t, "Create", err, api.Unavailable, "clone_failed", "git ls-remote")
	if got, want := progress.String(), "remote: [2Jhello\nfatal: cannot reach https://[redacted]@localhost/x\n"; got != want {
		t.Errorf("progress is %q, want %q", got, want)
	}
	if text := err.(*api.Error).Text(); !strings.Contains(text, "https://[redacted]@localhost/x") || strings.Contains(text, "sesame") {
		t.Errorf("the error says %q", text)
	}
}

func TestACanceledCloneLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	reached, release := make(chan struct{}, 8), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached <- struct{}{}
		<-release
	}))
	t.Cleanup(func() { close(release); remote.Close() })
	f.atlas.Repos["slow"] = atlas.Repo{URL: remote.URL + "/x.git", Forge: "none"}
	ctx, cancel := context.WithCancel(t.Context())
	progress := &talk.Words{}
	failed := make(chan error, 1)
	go func() {
		_, err := f.Create(ctx, id(t, "slow/a"), workspace.CreateOptions{}, progress)
		failed <- err
	}()
	<-reached
	eventually(t, "progress is passed on while git works", func() bool { return strings.Contains(progress.String(), "Cloning into") })
	if list, err := f.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List during a clone = %+v, %v; want nothing", list, err)
	}
	cancel()
	wantError(t, "Create", <-failed, api.Unavailable, "cancelled", "ship create slow/a")
	if _, err := os.Lstat(filepath.Join(f.root, "slow")); err == nil {
		t.Error("a canceled clone left the repo's directory")
	}
	eventually(t, "git's own processes end too", func() bool {
		lists, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return !slices.ContainsFunc(lists, func(l string) bool {
			raw, _ := os.ReadFile(l)
			return bytes.Contains(raw, []byte(remote.URL))
		})
	})
}
