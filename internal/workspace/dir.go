package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// openDir opens a directory, and neither a symlink to one nor anything else: what an agent put
// into a directory's place may be a pipe, and os.OpenRoot would wait for its writer. Behind "/."
// the system looks at directories only, before it opens anything.
func openDir(path string) (*os.Root, error) {
	dir, err := os.OpenRoot(path + "/.")
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(path)
	return sameDir(dir, path, named, err)
}

// openDirIn does the same below a directory that is open.
func openDirIn(parent *os.Root, name string) (*os.Root, error) {
	dir, err := parent.OpenRoot(name + "/.")
	if err != nil {
		return nil, err
	}
	named, err := parent.Lstat(name)
	return sameDir(dir, name, named, err)
}

func sameDir(dir *os.Root, name string, named fs.FileInfo, err error) (*os.Root, error) {
	if err == nil {
		var opened fs.FileInfo
		if opened, err = dir.Stat("."); err == nil && !os.SameFile(named, opened) {
			err = fmt.Errorf("%s is not a real directory", name)
		}
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// maxEntries bounds a directory; it is there for those that an agent filled.
const maxEntries = 1 << 20

// entries lists an open directory, in no order.
func entries(dir *os.Root) ([]fs.DirEntry, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []fs.DirEntry
	for {
		some, err := file.ReadDir(4096)
		list = append(list, some...)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err == nil && len(list) > maxEntries {
			err = fmt.Errorf("%s has more than %d entries", filepath.Base(dir.Name()), maxEntries)
		}
		if err != nil {
			return nil, err
		}
	}
}

// readDir is os.ReadDir, in no order, for a path in whose place an agent may have put a pipe.
func readDir(path string) ([]fs.DirEntry, error) {
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return entries(dir)
}
