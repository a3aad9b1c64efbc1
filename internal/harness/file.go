package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxFile bounds a harness's file; Claude Code's, the largest, has some megabytes after years.
const maxFile = 64 << 20

// file is a harness's file as it was read.
type file struct {
	path   string // as the harness names it
	target string // what a symbolic link there leads to
	data   []byte
	info   fs.FileInfo // nil: there is none
}

// open reads the file at path, or finds that there is none.
func open(path string) (*file, error) {
	f := &file{path: path, target: path}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return f, nil
	} else if err != nil {
		return nil, err
	}
	var err error
	if f.target, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("follow %s: %w; next: make the file that it leads to, or remove the link", path, err)
	}
	f.data, f.info, err = read(f.target)
	return f, err
}

func read(path string) ([]byte, fs.FileInfo, error) {
	// Without O_NONBLOCK a named pipe would wait for its writer for ever.
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return data, info, err
}

// write replaces the file's content in one step and keeps its mode and owner. It refuses where
// the file is no longer what was read. A new file, and each folder made for it, is its owner's alone.
func (f *file) write(data []byte) error {
	mode := fs.FileMode(0o600)
	if f.info != nil {
		mode = f.info.Mode().Perm()
		if mode&0o200 == 0 {
			return fmt.Errorf("%s is read-only; next: chmod u+w it, or paste what `ship harness print` shows", f.target)
		}
		if is, ok := f.info.Sys().(*syscall.Stat_t); ok && is.Nlink > 1 {
			return fmt.Errorf("%s has other names (hard links), which would keep the old content; next: paste what `ship harness print` shows", f.target)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.target), 0o700); err != nil {
		return err
	}
	fresh, err := f.prepare(data, mode)
	if err != nil {
		return err
	}
	return f.put(fresh)
}

// prepare makes a file beside the target with what shall stand there, on the disk already.
func (f *file) prepare(data []byte, mode fs.FileMode) (path string, err error) {
	out, err := os.CreateTemp(filepath.Dir(f.target), "."+filepath.Base(f.target)+"*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			_ = os.Remove(out.Name())
		}
	}()
	if err := out.Chmod(mode); err != nil {
		return "", err
	}
	if err := f.keepOwner(out); err != nil {
		return "", err
	}
	if _, err := out.Write(data); err != nil {
		return "", err
	}
	return out.Name(), out.Sync()
}

// keepOwner gives out the owner of the file that it will replace.
func (f *file) keepOwner(out *os.File) error {
	if f.info == nil {
		return nil
	}
	was, ok := f.info.Sys().(*syscall.Stat_t)
	info, err := out.Stat()
	if err != nil || !ok {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	if err := out.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("keep the owner of %s: %w; next: run this as its owner", f.target, err)
	}
	return out.Chmod(f.info.Mode().Perm()) // changing the owner can clear bits
}

// missingFolders lists the folders above path that are not there, the outermost first.
func missingFolders(path string) []string {
	var missing []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return missing
		}
		missing = append([]string{dir}, missing...)
	}
}

// erase removes the file, and then those of folders that are empty.
func (f *file) erase(folders []string) error {
	if err := f.take(); err != nil {
		return err
	}
	for i := len(folders) - 1; i >= 0; i-- {
		if err := os.Remove(folders[i]); err != nil {
			break // something else lives there by now
		}
	}
	return nil
}
