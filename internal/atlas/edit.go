package atlas

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// An edit takes milliseconds; who holds the lock for longer hangs.
const editPatience = 10 * time.Second

// Init makes dir an atlas, and dir itself if it is missing, and gives its real path. It refuses
// a directory that is one already, and one inside a checkout.
func Init(dir string, port int) (root string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	// Before anything is made, so that a refusal leaves nothing behind.
	if found := Checkout(existing(dir)); found != "" {
		return "", fmt.Errorf("%s lies in the checkout %s, and an atlas holds checkouts but is never inside one", dir, found)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return root, locked(root, func() error {
		if _, err := os.Lstat(filepath.Join(root, FileName)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has an %s already", root, FileName)
		}
		return Write(root, New(port))
	})
}

// existing is the nearest directory at or above dir that is there.
func existing(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// Edit reads root's atlas, lets change alter it, and writes it back, all under a lock of its own
// so that two commands never undo each other. Nothing is written when change fails. change must
// be quick: others wait for it, ten seconds at most.
func Edit(root string, change func(*File) error) error {
	return locked(root, func() error {
		f, err := Read(root)
		if err != nil {
			return err
		}
		if err := change(f); err != nil {
			return err
		}
		return Write(root, f)
	})
}

// locked runs do while no other process edits root's atlas.
func locked(root string, do func() error) error {
	dir, err := MakeStateDir(root)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), editPatience)
	defer cancel()
	lock := flock.New(filepath.Join(dir, "edit.lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s, which another command is editing: %w", FileName, err)
	}
	defer func() { _ = lock.Unlock() }()
	return do()
}
