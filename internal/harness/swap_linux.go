package harness

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap puts each of two files in the other's place in one step. It gives false where the file
// system cannot.
func swap(one, other string) (bool, error) {
	err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return false, nil
	}
	return err == nil, err
}
