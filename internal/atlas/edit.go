package atlas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Init makes dir an atlas, and dir itself if it is missing. It refuses a directory that is one
// already, and one inside a checkout.
func Init(dir string, port int) (root string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	if checkout := Checkout(root); checkout != "" {
		return "", fmt.Errorf("%s lies in the checkout %s, and an atlas holds checkouts but is never inside one", root, checkout)
	}
	if _, err := os.Lstat(filepath.Join(root, FileName)); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s has an %s already", root, FileName)
	}
	if _, err := MakeStateDir(root); err != nil {
		return "", err
	}
	return root, Write(root, New(port))
}

// Edit reads root's atlas, lets change alter it, and writes it back, all under a lock of its own
// so that two commands never undo each other. Nothing is written when change fails.
func Edit(root string, change func(*File) error) error {
	dir, err := MakeStateDir(root)
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "edit.lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", FileName, err)
	}
	defer func() { _ = lock.Unlock() }()
	f, err := Read(root)
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	return Write(root, f)
}
