package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// It named the file twice, and nothing to do.
func TestWhoMayNotOpenABridgesFilesIsToldWhoMay(t *testing.T) {
	dir, user := t.TempDir(), os.Geteuid()
	file := filepath.Join(dir, "bridge.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	denied := func(path string) error { // as bbolt and the store word it
		return fmt.Errorf("open %s: %w", path, &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES})
	}
	for name, c := range map[string]struct {
		dir, path string
		user      int
		want      string
	}{
		"another user":            {dir, file, user + 1, file + ": permission denied; next: run this as the bridge's own user"},
		"its own user":            {dir, file, user, file + ": permission denied; next: chmod u=rwX " + file},
		"a directory that is not": {filepath.Join(dir, "x"), filepath.Join(dir, "x"), user, "x: permission denied; next: make " + filepath.Join(dir, "x") + " for the bridge's own user, of mode 0700"},
		"a file that is not":      {dir, filepath.Join(dir, "none"), user, "next: chmod u=rwX "},
	} {
		err := whose(denied(c.path), c.dir, c.user)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, want %q", name, err, c.want)
		}
	}
	if os.Chown(file, user+1, -1) == nil { // root alone can
		if err := whose(denied(file), dir, user); !strings.HasSuffix(err.Error(), fmt.Sprintf("next: chown %d %s, as root", user, file)) {
			t.Errorf("a file that another user made: %q", err)
		}
	}
	if other := errors.New("no space left"); whose(other, dir, user) != other {
		t.Error("another error is changed")
	}
}
