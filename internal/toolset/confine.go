package toolset

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fleet/api"
)

// bounds are the folders that one call's paths stay in, without symlinks.
type bounds struct {
	workspace string
	roots     []string
	walk      *walk
}

// errOutside and errNowhere are the same whatever lies outside, so that nobody learns what is there.
var (
	errOutside    = errors.New("it leaves the workspace")
	errNowhere    = errors.New("it is neither in the workspace nor in a folder that the operator lists")
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
	b := bounds{workspace: dir, walk: newWalk()}
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
func (b bounds) path(ctx context.Context, text string) (string, error) {
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
	return path, b.check(ctx, path, []string{b.workspace}, errOutside)
}

// absPath checks an absolute path and gives it unchanged.
func (b bounds) absPath(ctx context.Context, text string) (string, error) {
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
	return text, b.check(ctx, text, append([]string{b.workspace}, b.roots...), errNowhere)
}

// misleading characters change a line that shows a path.
func misleading(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp)
}

// check follows every symlink in path that exists. It gives outside, whatever lies there, unless
// that ends in one of folders.
func (b bounds) check(ctx context.Context, path string, folders []string, outside error) error {
	real, err := b.walk.follow(ctx, path)
	if errors.Is(err, errTooMuch) {
		return err
	}
	if err != nil || !slices.ContainsFunc(folders, func(folder string) bool { return within(real, folder) }) {
		return outside
	}
	return nil
}
