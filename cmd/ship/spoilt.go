package main

import (
	"os"
	"path/filepath"

	"fleet/internal/atlas"
)

// spoiltError says that an atlas is here, but that its atlas.json, which people edit, is none at
// the moment. No other atlas may be taken or made in its place.
type spoiltError struct{ error }

func (s *spoiltError) Unwrap() error { return s.error }

// spoiltOf makes err a *spoiltError where one of dirs was an atlas that a ship served, else nil.
func spoiltOf(err error, dirs []string) error {
	for _, dir := range dirs {
		path := filepath.Join(dir, atlas.FileName)
		_, noFile := os.Lstat(path)
		_, noState := os.Lstat(atlas.StateDir(dir))
		if noFile == nil && noState == nil && atlas.Checkout(dir) == "" {
			return &spoiltError{hint(err, "mend "+atlas.Quote(path)+" and try again")}
		}
	}
	return nil
}

// above lists dir and every directory above it.
func above(dir string) []string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	dirs := []string{dir}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		dirs = append(dirs, dir)
	}
	return dirs
}
