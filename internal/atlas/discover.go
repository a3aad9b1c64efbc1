package atlas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Place is where a working directory lies in an atlas.
type Place struct {
	Root string // real path of the atlas's root
	Port int    // the ship's port, as atlas.json has it
	ID   ID     // the workspace
}

// OutsideError says that a directory is in no atlas or in no workspace, and what was tried.
type OutsideError struct {
	What  string   // "atlas" or "workspace"
	Tried []string // each a clause that names a path and says why it did not do
}

// Error says in one line what was tried; control characters in paths are replaced. What to do
// next depends on who is told.
func (e *OutsideError) Error() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, "not in a Fleet "+e.What+": "+strings.Join(e.Tried, "; "))
}

// Locate finds the workspace that a process stands in: the nearest valid atlas above the real
// path of the working directory, then above $PWD if that names the same directory. It answers
// with an *OutsideError where there is none.
//
// An atlas.json is passed over if it lacks "fleet": 1, or stands in or below a checkout: a
// repository that ships one must not receive a workspace's token.
func Locate() (Place, error) {
	outside := &OutsideError{What: "workspace"}
	for _, dir := range workingDirs(outside) {
		root, port, ok := nearest(dir, outside)
		if !ok {
			continue
		}
		id, err := below(root, dir)
		if err != nil {
			outside.Tried = append(outside.Tried, err.Error())
			continue
		}
		return Place{Root: root, Port: port, ID: id}, nil
	}
	return Place{}, outside
}

// FindRoot finds the nearest valid atlas at or above dir and gives the real path of its root.
// It answers with an *OutsideError where there is none.
func FindRoot(dir string) (string, error) {
	outside := &OutsideError{What: "atlas"}
	dir, err := realPath(dir)
	if err != nil {
		return "", err
	}
	root, _, ok := nearest(dir, outside)
	if !ok {
		return "", outside
	}
	return root, nil
}

// realPath is dir as an absolute path without symlinks.
func realPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// workingDirs gives the real working directory, then $PWD where it is another path to it.
func workingDirs(outside *OutsideError) []string {
	var dirs []string
	// Getwd may answer with $PWD, so its symlinks are resolved here.
	wd, err := os.Getwd()
	if err == nil {
		wd, err = filepath.EvalSymlinks(wd)
	}
	if err != nil {
		outside.Tried = append(outside.Tried, "the working directory cannot be read ("+err.Error()+")")
	} else {
		dirs = append(dirs, wd)
	}
	pwd := os.Getenv("PWD")
	if !filepath.IsAbs(pwd) || filepath.Clean(pwd) == wd {
		return dirs
	}
	here, err1 := os.Stat(".")
	there, err2 := os.Stat(pwd)
	if err1 != nil || err2 != nil || !os.SameFile(here, there) {
		outside.Tried = append(outside.Tried, "$PWD is "+pwd+", which is not the working directory")
		return dirs
	}
	return append(dirs, filepath.Clean(pwd))
}

// nearest walks up from dir to the first valid atlas. Why others were passed over goes to
// outside, or that there is none at or above dir.
func nearest(dir string, outside *OutsideError) (root string, port int, ok bool) {
	before := len(outside.Tried)
	for d := dir; ; d = filepath.Dir(d) {
		root, port, err := valid(d)
		if err == nil {
			return root, port, true
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			outside.Tried = append(outside.Tried, filepath.Join(d, FileName)+" does not count ("+err.Error()+")")
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	if len(outside.Tried) == before {
		outside.Tried = append(outside.Tried, "there is no "+FileName+" at or above "+dir)
	}
	return "", 0, false
}

// valid gives the real path and the port of the atlas at dir, or says why it is none.
func valid(dir string) (root string, port int, err error) {
	raw, err := readOwn(filepath.Join(dir, FileName))
	if err != nil {
		return "", 0, err
	}
	if port, err = probe(raw); err != nil {
		return "", 0, err
	}
	if checkout := Checkout(dir); checkout != "" {
		return "", 0, fmt.Errorf("it lies in the checkout %s, and an atlas is never inside one", checkout)
	}
	root, err = filepath.EvalSymlinks(dir)
	return root, port, err
}

// Checkout gives the nearest directory at or above dir that holds .git, or "". The user's home
// does not count, as the system knows it, since people keep it in git; $HOME does not make a
// home, since a harness may set it to a directory that an agent fills.
func Checkout(dir string) string { return checkout(dir, systemHome) }

// checkout looks above the real path of dir, then above dir as it is written.
func checkout(dir string, home func() string) string {
	paths := []string{dir}
	if target, err := filepath.EvalSymlinks(dir); err == nil && target != dir {
		paths = []string{target, dir}
	}
	for _, path := range paths {
		for d := path; ; d = filepath.Dir(d) {
			if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil && !sameDir(d, home()) {
				return d
			}
			if d == filepath.Dir(d) {
				break
			}
		}
	}
	return ""
}

func sameDir(a, b string) bool {
	sa, err1 := os.Stat(a)
	sb, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(sa, sb)
}

// systemHome is the home directory of our user id, or "" where the system knows none. os/user's
// Current would give $HOME then.
func systemHome() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// below gives the workspace that dir, a path under the atlas's root, lies in.
func below(root, dir string) (ID, error) {
	rel, err := relative(root, dir)
	if err != nil {
		return ID{}, err
	}
	parts := strings.Split(rel, string(filepath.Separator))
	if rel == "." || len(parts) < 2 {
		return ID{}, fmt.Errorf("%s lies in the atlas %s, but in none of its workspaces, which are two levels below it (REPO/NAME)", dir, root)
	}
	id, err := NewID(parts[0], parts[1])
	if err != nil {
		return ID{}, fmt.Errorf("%s lies in no workspace (%w)", dir, err)
	}
	if err := CheckWorkspace(root, id); err != nil {
		return ID{}, err
	}
	return id, nil
}

// relative is filepath.Rel where dir may reach root through symlinks.
func relative(root, dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		if target, err := filepath.EvalSymlinks(d); err == nil && target == root {
			return filepath.Rel(d, dir)
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not below %s", dir, root)
		}
	}
}

// CheckWorkspace says why id is no workspace of the atlas at root, given as a real path: its two
// directories must be real ones, and the inner one must hold .git, a directory or a file.
func CheckWorkspace(root string, id ID) error {
	for _, dir := range []string{filepath.Join(root, id.Repo), id.Dir(root)} {
		st, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !st.IsDir() {
			return fmt.Errorf("%s is not a real directory, so it is no workspace", dir)
		}
	}
	st, err := os.Lstat(filepath.Join(id.Dir(root), ".git"))
	if err != nil || (!st.IsDir() && !st.Mode().IsRegular()) {
		return fmt.Errorf("%s holds no .git, so it is no workspace", id.Dir(root))
	}
	return nil
}
