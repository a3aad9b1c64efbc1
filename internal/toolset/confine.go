package toolset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"fleet/api"
)

// bounds are the folders that a call's paths stay in, without symlinks.
type bounds struct {
	workspace string
	roots     []string
}

const maxLinks = 40 // as many as Linux follows

// errOutside is the same whatever lies outside, so that nobody learns what is there.
var (
	errOutside    = errors.New("it leaves the workspace")
	errCharacters = errors.New("it holds control, format or separator characters")
)

func (t *Toolset) bounds(place Place) (bounds, error) {
	dir, err := filepath.EvalSymlinks(place.Dir)
	if err != nil || !filepath.IsAbs(dir) {
		return bounds{}, &api.Error{
			Code: api.Unavailable, Reason: "no_workspace", Message: "the workspace's folder cannot be found",
			Hint: "tell a person", Err: err,
		}
	}
	b := bounds{workspace: dir}
	for _, root := range t.roots {
		// One that is not there holds nothing that could be named.
		if real, err := filepath.EvalSymlinks(root); err == nil {
			b.roots = append(b.roots, real)
		}
	}
	return b, nil
}

// path makes a path from the workspace's root absolute. It stays in the workspace, whether it
// exists or not, and an absolute one is taken where it leads into the workspace.
func (b bounds) path(text string) (string, error) {
	if text == "" {
		return "", errors.New("it is empty")
	}
	if strings.HasPrefix(text, "-") {
		return "", errors.New("it must not start with -; write ./- for such a file")
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", errCharacters
	}
	path := text
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.workspace, path)
	}
	// Cleaned first, so that no name of a neighbour on a way out and back in is looked up.
	path = filepath.Clean(path)
	if !b.holds(path, []string{b.workspace}) {
		return "", errOutside
	}
	return path, nil
}

// absPath checks an absolute path and gives it unchanged.
func (b bounds) absPath(text string) (string, error) {
	if !filepath.IsAbs(text) {
		return "", errors.New("it is not an absolute path")
	}
	// U+FFFD is what half of a surrogate pair in JSON has become by now.
	if strings.ContainsFunc(text, misleading) || strings.ContainsRune(text, utf8.RuneError) {
		return "", errCharacters
	}
	for segment := range strings.SplitSeq(text, "/") {
		if segment == ".." {
			return "", errors.New("it has a .. in it")
		}
	}
	if !b.holds(text, append([]string{b.workspace}, b.roots...)) {
		return "", errors.New("it is neither in the workspace nor in a folder that the operator lists")
	}
	return text, nil
}

// misleading characters change a line that shows a path.
func misleading(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp)
}

// holds says whether path, with every symlink followed that exists, ends in one of folders.
func (b bounds) holds(path string, folders []string) bool {
	real, err := follow(path)
	if err != nil {
		return false
	}
	for _, folder := range folders {
		if within(real, folder) {
			return true
		}
	}
	return false
}

// follow resolves symlinks as the system does, up to the first part that does not exist.
func follow(path string) (string, error) {
	rest := strings.Split(path, "/")
	real := "/"
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, part)
		st, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return remainder(next, rest)
		case err != nil:
			return "", err
		case st.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return real, nil
}

// remainder appends what follows a part that does not exist. A way up from there would mean one
// thing now and another once it exists.
func remainder(path string, rest []string) (string, error) {
	for _, part := range rest {
		if part == ".." {
			return "", errOutside
		}
	}
	return filepath.Join(append([]string{path}, rest...)...), nil
}
