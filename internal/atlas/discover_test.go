package atlas_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fleet/internal/atlas"
)

// tempDir is a temporary directory by its real path.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newAtlas is an atlas at port 4711 with workspace r/w.
func newAtlas(t *testing.T) (root string) {
	t.Helper()
	root = tempDir(t)
	if err := atlas.Write(root, atlas.New(4711)); err != nil {
		t.Fatal(err)
	}
	mkdir(t, root, "r/w/.git")
	return root
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func expectPlace(t *testing.T, root string, id atlas.ID) {
	t.Helper()
	place, err := atlas.Locate()
	if want := (atlas.Place{Root: root, Port: 4711, ID: id}); place != want || err != nil {
		t.Errorf("Locate() = %+v, %v; want %+v", place, err, want)
	}
}

// expectOutside wants an OutsideError that says each of says.
func expectOutside(t *testing.T, says ...string) {
	t.Helper()
	place, err := atlas.Locate()
	var outside *atlas.OutsideError
	if !errors.As(err, &outside) || len(outside.Tried) == 0 {
		t.Fatalf("Locate() = %+v, %v; want an OutsideError that says what was tried", place, err)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Locate() = %q, which does not say %q", err, want)
		}
	}
}

var (
	rw   = atlas.ID{Repo: "r", Name: "w"}
	evil = `{"fleet":1,"port":6666,"repos":{}}`
)

func TestLocateFromTheWorkspaceAndBelow(t *testing.T) {
	root := newAtlas(t)
	for _, dir := range []string{"r/w", "r/w/src/deep", "r/w/.git"} {
		t.Chdir(mkdir(t, root, dir))
		expectPlace(t, root, rw)
	}
}

func TestLocateTakesHardNames(t *testing.T) {
	for _, id := range []atlas.ID{{Repo: "é b", Name: "%41"}, {Repo: "#(touch x)", Name: "a.b"}, {Repo: "%", Name: strings.Repeat("é", 64)}} {
		root := newAtlas(t)
		mkdir(t, id.Dir(root), ".git")
		t.Chdir(id.Dir(root))
		expectPlace(t, root, id)
	}
}

func TestLocateTakesAWorkspaceWithAGitFile(t *testing.T) {
	root := newAtlas(t)
	dir := mkdir(t, root, "r/tree")
	write(t, filepath.Join(dir, ".git"), "gitdir: ../w/.git/worktrees/tree\n")
	t.Chdir(dir)
	expectPlace(t, root, atlas.ID{Repo: "r", Name: "tree"})
}

func TestLocateTakesTheNearestAtlas(t *testing.T) {
	outer := newAtlas(t)
	inner := mkdir(t, outer, "x/inner")
	if err := atlas.Write(inner, atlas.New(4711)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(mkdir(t, inner, "r/w/.git")))
	expectPlace(t, inner, rw)
}

func TestOutsideAWorkspaceTheErrorSaysWhere(t *testing.T) {
	root := newAtlas(t)
	mkdir(t, root, "r/plain")
	mkdir(t, root, ".ship/x")
	symlink(t, "w", filepath.Join(mkdir(t, root, "r"), "link"))
	cases := map[string]string{
		"":        "in none of its workspaces, which are two levels below",
		"r":       "in none of its workspaces, which are two levels below",
		"r/plain": "holds no .git",
		".ship/x": "starts with",
	}
	for dir, want := range cases {
		t.Run("/"+dir, func(t *testing.T) {
			t.Chdir(filepath.Join(root, dir))
			expectOutside(t, "not in a Fleet workspace", filepath.Join(root, dir), want)
		})
	}
	nowhere := tempDir(t)
	t.Chdir(nowhere)
	expectOutside(t, "not in a Fleet workspace: there is no atlas.json at or above "+nowhere)
}

// A file that is no atlas of ours is passed over, whatever it is, and the walk goes on.
func TestForeignAndUnfitFilesArePassedOver(t *testing.T) {
	cases := map[string]struct {
		place func(t *testing.T, path string)
		says  string
	}{
		"a texture atlas":       {func(t *testing.T, p string) { write(t, p, `{"frames":{"a.png":{"x":0}},"meta":{}}`) }, `no "fleet": 1`},
		"another program's":     {func(t *testing.T, p string) { write(t, p, `{"fleet":"trucks","port":1}`) }, `no "fleet": 1`},
		"not JSON":              {func(t *testing.T, p string) { write(t, p, `# atlas`) }, "not JSON"},
		"empty":                 {func(t *testing.T, p string) { write(t, p, ``) }, "not JSON"},
		"an array":              {func(t *testing.T, p string) { write(t, p, `[1]`) }, `no "fleet": 1`},
		"no port":               {func(t *testing.T, p string) { write(t, p, `{"fleet":1}`) }, "port"},
		"huge":                  {func(t *testing.T, p string) { write(t, p, evil+strings.Repeat(" ", 1<<20)) }, "larger than 1 MiB"},
		"a directory":           {func(t *testing.T, p string) { mkdir(t, p) }, "not a regular file"},
		"a FIFO":                {mkfifo, "not a regular file"},
		"a symbolic link":       {func(t *testing.T, p string) { write(t, p+"x", evil); symlink(t, p+"x", p) }, "symbolic link"},
		"a dangling link":       {func(t *testing.T, p string) { symlink(t, "nowhere", p) }, "symbolic link"},
		"writable by the group": {func(t *testing.T, p string) { write(t, p, evil); chmod(t, p, 0o660) }, "others can write it"},
		"writable by all":       {func(t *testing.T, p string) { write(t, p, evil); chmod(t, p, 0o606) }, "others can write it"},
		"another user's":        {func(t *testing.T, p string) { write(t, p, evil); chown(t, p) }, "belongs to user 65534"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			// Between the atlas and the workspace: the atlas above is found.
			root := newAtlas(t)
			c.place(t, filepath.Join(root, "r", atlas.FileName))
			t.Chdir(filepath.Join(root, "r/w"))
			expectPlace(t, root, rw)

			// With nothing above: the error says why this one did not do.
			alone := tempDir(t)
			c.place(t, filepath.Join(alone, atlas.FileName))
			t.Chdir(filepath.Dir(mkdir(t, alone, "r/w/.git")))
			expectOutside(t, filepath.Join(alone, atlas.FileName)+" does not count (", c.says)
			if root, err := atlas.FindRoot("."); err == nil {
				t.Errorf("FindRoot(.) = %s, want an error", root)
			}
		})
	}
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	if err := os.Lchown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
}

// A repository may hold an atlas.json that looks like ours, to have a workspace's token sent to
// a port of its own. Nothing in or below a checkout is an atlas.
func TestAnAtlasInsideACheckoutIsPassedOver(t *testing.T) {
	gitDir := func(t *testing.T, dir string) { mkdir(t, dir, ".git") }
	gitFile := func(t *testing.T, dir string) { write(t, filepath.Join(mkdir(t, dir), ".git"), "gitdir: /x\n") }
	gitLink := func(t *testing.T, dir string) { symlink(t, "nowhere", filepath.Join(mkdir(t, dir), ".git")) }
	cases := map[string]struct {
		checkout, file, cwd string // from the atlas's root
		git                 func(t *testing.T, dir string)
	}{
		"at the root of a checkout":           {"r/w", "r/w", "r/w/a/b", gitDir},
		"below the root of a checkout":        {"r/w", "r/w/a", "r/w/a/b/c", gitDir},
		"at the root, with a workspace below": {"r/w", "r/w", "r/w/x/y", gitDir},
		"in a worktree":                       {"r/w", "r/w", "r/w/a/b", gitFile},
		"in a submodule":                      {"r/w/sub", "r/w/sub", "r/w/sub/a/b", gitFile},
		"in a checkout below the workspace":   {"r/w/vendor/x", "r/w/vendor/x", "r/w/vendor/x/a/b", gitDir},
		"where .git is a dangling link":       {"r/w/sub", "r/w/sub", "r/w/sub/a/b", gitLink},
		"inside .git itself":                  {"r/w", "r/w/.git", "r/w/.git/a/b", gitDir},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := newAtlas(t)
			if c.checkout == "r/w" {
				if err := os.RemoveAll(filepath.Join(root, "r/w/.git")); err != nil {
					t.Fatal(err)
				}
			}
			c.git(t, filepath.Join(root, c.checkout))
			write(t, filepath.Join(mkdir(t, root, c.file), atlas.FileName), evil)
			// Even the form of a workspace does not help it.
			mkdir(t, root, c.cwd, ".git")
			t.Chdir(filepath.Join(root, c.cwd))
			expectPlace(t, root, rw)
		})
	}
}

func TestAnAtlasInsideACheckoutIsNamedWithIt(t *testing.T) {
	checkout := tempDir(t)
	mkdir(t, checkout, ".git")
	dir := mkdir(t, checkout, "sub")
	write(t, filepath.Join(dir, atlas.FileName), evil)
	t.Chdir(filepath.Dir(mkdir(t, dir, "r/w/.git")))
	expectOutside(t, filepath.Join(dir, atlas.FileName)+" does not count (it lies in the checkout "+checkout)
}

// A harness or a repository's tooling may set HOME; it must not lift the rule for a checkout.
func TestTheEnvironmentsHomeExemptsNothing(t *testing.T) {
	checkout := tempDir(t)
	mkdir(t, checkout, ".git")
	write(t, filepath.Join(checkout, atlas.FileName), evil)
	t.Setenv("HOME", checkout)
	t.Chdir(filepath.Dir(mkdir(t, checkout, "r/w/.git")))
	expectOutside(t, "it lies in the checkout "+checkout)
}

func TestASymlinkedAtlasIsItsRealPath(t *testing.T) {
	root := newAtlas(t)
	link := filepath.Join(tempDir(t), "link")
	symlink(t, root, link)
	t.Chdir(filepath.Join(link, "r/w"))
	expectPlace(t, root, rw)
	if got, err := atlas.FindRoot(filepath.Join(link, "r")); got != root || err != nil {
		t.Errorf("FindRoot = %s, %v; want %s", got, err, root)
	}
}

func TestASymlinkIntoAWorkspaceIsThatWorkspace(t *testing.T) {
	root := newAtlas(t)
	link := filepath.Join(tempDir(t), "elsewhere")
	symlink(t, mkdir(t, root, "r/w/src"), link)
	t.Chdir(link)
	expectPlace(t, root, rw)
}

func TestASymlinkIsNoWorkspace(t *testing.T) {
	root := newAtlas(t)
	out := tempDir(t)
	mkdir(t, out, "w/.git")
	symlink(t, filepath.Join(out, "w"), filepath.Join(root, "r", "out"))
	symlink(t, out, filepath.Join(root, "outrepo"))
	for _, dir := range []string{"r/out", "outrepo/w"} {
		t.Run(dir, func(t *testing.T) {
			t.Chdir(filepath.Join(root, dir))
			expectOutside(t, "no atlas.json at or above "+filepath.Join(out, "w"), "not a real directory")
		})
	}
	// A link to a neighbour is not a second name of it.
	symlink(t, "w", filepath.Join(root, "r", "alias"))
	if err := atlas.CheckWorkspace(root, atlas.ID{Repo: "r", Name: "alias"}); err == nil {
		t.Error("CheckWorkspace of a symbolic link = nil, want an error")
	}
	t.Chdir(filepath.Join(root, "r/alias"))
	expectPlace(t, root, rw)
}

// A directory of the workspace that is kept elsewhere, as some package managers do.
func TestPWDIsTheSecondTry(t *testing.T) {
	root := newAtlas(t)
	store := tempDir(t)
	link := filepath.Join(root, "r/w/store")
	symlink(t, store, link)
	t.Chdir(link)
	t.Setenv("PWD", link)
	expectPlace(t, root, rw)
	t.Setenv("PWD", "")
	expectOutside(t, "no atlas.json at or above "+store)
}

func TestALyingPWDIsNotBelieved(t *testing.T) {
	root := newAtlas(t)
	nowhere := tempDir(t)
	t.Chdir(nowhere)
	for _, pwd := range []string{filepath.Join(root, "r/w"), filepath.Join(root, "gone")} {
		t.Setenv("PWD", pwd)
		expectOutside(t, "no atlas.json at or above "+nowhere, "$PWD is "+pwd+", which is not the working directory")
	}
	t.Setenv("PWD", "relative/r/w")
	expectOutside(t, "not in a Fleet workspace: there is no atlas.json at or above "+nowhere)
	// The working directory comes first.
	t.Chdir(filepath.Join(root, "r/w"))
	t.Setenv("PWD", nowhere)
	expectPlace(t, root, rw)
}

func TestAnAtlasBehindALinkInACheckoutIsPassedOver(t *testing.T) {
	root := newAtlas(t)
	planted := tempDir(t)
	write(t, filepath.Join(planted, atlas.FileName), evil)
	link := filepath.Join(root, "r/w/link")
	symlink(t, planted, link)
	cwd := mkdir(t, tempDir(t), "x")
	symlink(t, cwd, filepath.Join(planted, "out"))
	t.Chdir(cwd)
	t.Setenv("PWD", filepath.Join(link, "out"))
	expectPlace(t, root, rw)
}

func TestADeletedWorkingDirectoryIsAnError(t *testing.T) {
	root := newAtlas(t)
	dir := mkdir(t, root, "r/w/gone")
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	expectOutside(t, "the working directory cannot be read (", "$PWD is "+dir+", which is not the working directory")
	// Another directory of that name is not the one that we stand in.
	mkdir(t, dir)
	expectOutside(t, "$PWD is "+dir+", which is not the working directory")
}

func TestAnErrorIsOneLineWhateverTheDirectoryIsCalled(t *testing.T) {
	t.Chdir(mkdir(t, tempDir(t), "a\nb\x1b[2J"))
	_, err := atlas.Locate()
	if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("Locate() = %q, want an error in one line", err)
	}
}

func TestFindRootStartsAtTheDirectoryItself(t *testing.T) {
	root := newAtlas(t)
	t.Chdir(root)
	for _, dir := range []string{".", "r", "r/w", root, atlas.FileName} {
		if got, err := atlas.FindRoot(dir); got != root || err != nil {
			t.Errorf("FindRoot(%q) = %q, %v; want %q", dir, got, err, root)
		}
	}
	file := filepath.Join(tempDir(t), "file")
	write(t, file, "")
	if _, err := atlas.FindRoot(file); err == nil || !strings.Contains(err.Error(), "not in a Fleet atlas: there is no atlas.json at or above "+file) {
		t.Errorf("FindRoot of a file outside = %v, want that there is no atlas above it", err)
	}
	if got, err := atlas.FindRoot(filepath.Join(root, "none")); err == nil {
		t.Errorf("FindRoot of a missing directory = %q, want an error", got)
	}
}
