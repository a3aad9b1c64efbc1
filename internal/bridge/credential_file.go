package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const (
	maxSecretFile = 64 << 10

	// How long a file that is empty or missing is waited for: whoever rotates it without a rename
	// leaves it so for a moment.
	rotationPause = 50 * time.Millisecond
)

// Who, beside its owner, may have access to a secret's file.
const (
	ownerOnly fs.FileMode = 0o077 // mask of a file that Fleet wrote itself
	noOthers  fs.FileMode = 0o027 // mask of an operator's: a group may read it, as service managers and clusters arrange it
)

// fileCredential is a token in a file. The file is read for every request: that costs some
// microseconds before a journey of many milliseconds, and a rotated one counts at once.
type fileCredential struct {
	id    string
	forge string
	path  string
	mask  fs.FileMode
}

// NewFileCredential signs with the token that stands in the file at path, and picks it up again
// whenever it changes. The file must belong to this user or to root, and others must have no
// access to it. No file is read before the first request.
func NewFileCredential(id, forge, path string) Credential {
	return fileCredential{id: id, forge: forge, path: path, mask: noOthers}
}

func (c fileCredential) ID() string { return c.id }

func (c fileCredential) Authorization(ctx context.Context) (Secret, error) {
	text, err := readSecret(ctx, c.path, c.mask)
	if err != nil {
		return Secret{}, err
	}
	token, err := parseToken(text, c.path)
	return header(c.forge, token), err
}

// Refused says whether the file holds another token by now.
func (c fileCredential) Refused(ctx context.Context, used Secret) bool {
	now, err := c.Authorization(ctx)
	return err == nil && !now.Equal(used)
}

// readSecret reads a secret's file, once more after a moment if it finds it empty or missing.
func readSecret(ctx context.Context, path string, mask fs.FileMode) (string, error) {
	text, err := readSecretOnce(path, mask)
	if text != "" || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
		return text, err
	}
	_ = pause(ctx, rotationPause)
	return readSecretOnce(path, mask)
}

func readSecretOnce(path string, mask fs.FileMode) (string, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK // a named pipe must not hold us up
	if mask == ownerOnly {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		e := unusable(path, "cannot be read")
		e.Err = err
		return "", e
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read credential: %w", err)
	}
	if why := unsafeFile(info, mask); why != "" {
		return "", unusable(path, why)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		e := unusable(path, "cannot be read")
		e.Err = err
		return "", e
	}
	if len(data) > maxSecretFile {
		return "", unusable(path, "is too large for a credential")
	}
	return string(data), nil
}

// unsafeFile says what is wrong with a secret's file, or "".
func unsafeFile(info fs.FileInfo, mask fs.FileMode) string {
	if !info.Mode().IsRegular() {
		return "is not a regular file"
	}
	if mode := info.Mode().Perm(); mode&mask != 0 {
		return fmt.Sprintf("has mode %#o: others have access to it; use chmod 600", mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	return ""
}
