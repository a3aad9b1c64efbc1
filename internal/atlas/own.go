package atlas

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// readOwn reads a regular file of our user that others cannot write, following no symlink. Its
// errors leave the path to the caller.
func readOwn(path string) ([]byte, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("it is a symbolic link")
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if err := checkOwn(st); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(raw) > maxFileBytes {
		return nil, errors.New("it is larger than 1 MiB")
	}
	return raw, withoutPath(err)
}

func checkOwn(st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("it belongs to user %d, not to us", sys.Uid)
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others can write it (mode %#o); run chmod 600 on it", st.Mode().Perm())
	}
	return nil
}

// replaceOwn puts a file of raw, mode 0600, in path's place by a rename in the same folder. Unlike
// renameio.WriteFile it does not take over the mode of the file that was there.
func replaceOwn(path string, raw []byte) error {
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = file.Cleanup() }()
	if _, err := file.Write(raw); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
