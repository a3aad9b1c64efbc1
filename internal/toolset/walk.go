package toolset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxLinks = 40 // as many as Linux follows
	// maxSteps bounds what checking all paths of one call costs. It is a second at worst, and is
	// enough for as many paths as a call may name, each 50 folders deep.
	maxSteps = 50 * maxItems
)

var (
	errTooMuch = errors.New("with it the paths of this call take too long to follow; name fewer of them, through fewer links")
	errProcfs  = errors.New("it passes through procfs")
)

// walk follows paths, and bounds what all of them cost together: a link that an agent lays can
// lead through ten thousand others.
type walk struct {
	left   int
	procfs map[uint64]bool // by device: whether it is one
}

func newWalk() *walk { return &walk{left: maxSteps, procfs: map[uint64]bool{}} }

// follow resolves symlinks as the system does, up to the first part that does not exist. It enters
// no procfs: links there lead elsewhere than their text says, such as to the root of a process
// that has mounted something else where the workspace is.
func (w *walk) follow(ctx context.Context, path string) (string, error) {
	rest := strings.Split(path, "/")
	real := "/"
	for links := 0; len(rest) > 0; {
		if err := w.step(ctx); err != nil {
			return "", err
		}
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, part)
		st, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return remainder(next, rest)
		case err != nil:
			return "", err
		case st.Mode()&fs.ModeSymlink == 0 && w.entersProcfs(next, st):
			return "", errProcfs
		case st.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return real, nil
}

func (w *walk) step(ctx context.Context) error {
	if w.left--; w.left < 0 {
		return errTooMuch
	}
	return ctx.Err()
}

// entersProcfs asks the system once for each device that a walk comes to.
func (w *walk) entersProcfs(path string, st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return isProcfs(path)
	}
	device := uint64(sys.Dev)
	is, known := w.procfs[device]
	if !known {
		is = isProcfs(path)
		w.procfs[device] = is
	}
	return is
}

// remainder appends what follows a part that does not exist. A way up from there would mean one
// thing now and another once it exists.
func remainder(path string, rest []string) (string, error) {
	for _, part := range rest {
		if part == ".." {
			return "", errOutside
		}
	}
	return filepath.Join(append([]string{path}, rest...)...), nil
}
