package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errChanged says that another program wrote the file at path meanwhile.
func errChanged(path string) error {
	return fmt.Errorf("%s was changed by another program just now, and was left as that wrote it; next: the same command again", path)
}

// unchanged says that what stands at the path is still what was read.
func (f *file) unchanged() error {
	now, err := open(f.path)
	if err != nil {
		return err
	}
	same := (now.info == nil) == (f.info == nil) && now.target == f.target && bytes.Equal(now.data, f.data)
	if same && f.info != nil {
		same = os.SameFile(now.info, f.info)
	}
	if !same {
		return errChanged(f.path)
	}
	return nil
}

// put moves the finished file at fresh to the target, or removes it. Between a look at the target and a rename
// there is always room for a save of the harness, which would be lost without a word: so the two
// change places, and what came out is held against what was read.
func (f *file) put(fresh string) error {
	if err := f.unchanged(); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return f.exchange(fresh)
}

// exchange is put without its first look.
func (f *file) exchange(fresh string) error {
	if f.info == nil {
		return f.putNew(fresh)
	}
	swapped, err := swap(fresh, f.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(errChanged(f.path), os.Remove(fresh))
	case err != nil:
		return errors.Join(err, os.Remove(fresh))
	case !swapped:
		return os.Rename(fresh, f.target)
	case f.cameOut(fresh):
		return os.Remove(fresh)
	}
	return f.putBack(fresh)
}

// putNew makes a file that was not there, unless it is by now. A link does not replace.
func (f *file) putNew(fresh string) error {
	err := os.Link(fresh, f.target)
	switch {
	case err == nil:
		return os.Remove(fresh)
	case errors.Is(err, fs.ErrExist):
		return errors.Join(errChanged(f.path), os.Remove(fresh))
	}
	return os.Rename(fresh, f.target) // a file system without links
}

// cameOut says that the file at path, which stood at the target until now, is the one that was read.
func (f *file) cameOut(path string) bool {
	// A link in its place is a change, wherever it leads.
	if at, err := os.Lstat(path); err != nil || !os.SameFile(at, f.info) {
		return false
	}
	data, info, err := read(path)
	return err == nil && os.SameFile(info, f.info) && bytes.Equal(data, f.data)
}

// putBack gives another program's file its place again. It was away for a moment only.
func (f *file) putBack(theirs string) error {
	if swapped, err := swap(theirs, f.target); err != nil || !swapped {
		return errors.Join(fmt.Errorf("%s was changed by another program just now; what that wrote is kept in %s", f.path, theirs), err)
	}
	return errors.Join(errChanged(f.path), os.Remove(theirs))
}

// take removes the file at the target, unless it is no longer what was read: it is moved aside
// first, so that nothing is removed unseen.
func (f *file) take() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	return f.moveOut()
}

// moveOut is take without its first look.
func (f *file) moveOut() error {
	aside, err := os.MkdirTemp(filepath.Dir(f.target), ".fleet-*")
	if err != nil {
		return err
	}
	defer os.Remove(aside)
	kept := filepath.Join(aside, filepath.Base(f.target))
	if err := os.Rename(f.target, kept); err != nil {
		return err
	}
	if f.cameOut(kept) {
		return os.Remove(kept)
	}
	if err := os.Link(kept, f.target); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s was changed by another program just now; what that wrote is kept in %s: %w", f.path, kept, err)
	}
	return errors.Join(errChanged(f.path), os.Remove(kept)) // where there is a newer one, that is the harness's
}
