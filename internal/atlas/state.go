package atlas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

const (
	// stateDirName is the folder of the ship's own files, below the atlas's root, mode 0700.
	stateDirName = ".ship"
	// OperatorSocket, TmuxSocket and BridgeSocket are the sockets in the folder that Sockets gives.
	OperatorSocket = "ship.sock"
	TmuxSocket     = "tmux.sock"
	BridgeSocket   = "bridge.sock"

	// A socket's path has 107 bytes at most on Linux, 103 on macOS.
	maxSocketPath = 100
)

// ErrLocked says that another ship serves this atlas.
var ErrLocked = errors.New("another ship serves this atlas")

// StateDir is <root>/.ship.
func StateDir(root string) string { return filepath.Join(root, stateDirName) }

// MakeStateDir makes <root>/.ship, mode 0700, if it is missing. It refuses one that is not a
// directory of our user's alone.
func MakeStateDir(root string) (string, error) {
	dir := StateDir(root)
	return dir, makePrivate(dir)
}

// Lock takes the atlas's lock for as long as the process lives or until Unlock, and fails with
// ErrLocked where another holds it. It comes before any socket is touched.
func Lock(root string) (*flock.Flock, error) {
	dir, err := MakeStateDir(root)
	if err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the atlas: %w", err)
	}
	if !held {
		return nil, ErrLocked
	}
	return lock, nil
}

// MakeSockets makes the folder of the ship's sockets, writes .ship/sockets where it isn't .ship
// itself, and gives its path. root is a real path.
func MakeSockets(root string) (string, error) { return makeSockets(root, userTemp()) }

func makeSockets(root, temp string) (string, error) {
	state, err := MakeStateDir(root)
	if err != nil {
		return "", err
	}
	pointer := filepath.Join(state, "sockets")
	if len(filepath.Join(state, TmuxSocket)) < maxSocketPath {
		if err := os.Remove(pointer); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return state, nil
	}
	dir, err := makePrivateAll(temp, short(root))
	if err != nil {
		return "", err
	}
	// A full disk must not keep a ship from its sessions, so what is there already is left alone.
	if have, err := readOwn(pointer); err == nil && string(have) == dir+"\n" {
		return dir, nil
	}
	return dir, replaceOwn(pointer, []byte(dir+"\n"))
}

// Sockets gives the folder of the ship's sockets as an earlier MakeSockets left it, after a look
// that it is ours alone. root is a real path.
func Sockets(root string) (string, error) {
	state := StateDir(root)
	if err := checkPrivate(state); err != nil {
		return "", err
	}
	pointer := filepath.Join(state, "sockets")
	raw, err := readOwn(pointer)
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", pointer, err)
	}
	dir := strings.TrimSuffix(string(raw), "\n")
	// A copied or moved atlas still names the folder of the one that it came from.
	if !filepath.IsAbs(dir) || filepath.Base(dir) != short(root) {
		return "", fmt.Errorf("%s names the folder of another atlas; run ship serve, which writes it anew", pointer)
	}
	return dir, checkPrivate(dir)
}

// Temp is the folder under /tmp for what belongs to this atlas and may be lost, such as
// TempSockets. The caller makes it with MakeTemp.
func Temp(root string) string { return filepath.Join(userTemp(), short(root)) }

// MakeTemp makes the folder that Temp names, or says why it is not ours alone.
func MakeTemp(root string) (string, error) { return makePrivateAll(userTemp(), short(root)) }

// TempSockets is the folder for the sockets of programs that run in one workspace, such as a
// tmux that an agent starts for itself: short, and nobody else's. The caller makes it with
// MakeTempSockets.
func TempSockets(root string, id ID) string {
	return filepath.Join(append([]string{userTemp()}, tempNames(root, id)...)...)
}

// MakeTempSockets makes the folder that TempSockets names.
func MakeTempSockets(root string, id ID) (string, error) {
	return makePrivateAll(userTemp(), tempNames(root, id)...)
}

func tempNames(root string, id ID) []string {
	return []string{short(root), "w" + short(id.SessionName())}
}

// userTemp is under /tmp and not $TMPDIR, so that every process of the user finds the same one.
func userTemp() string { return "/tmp/fleet-" + strconv.Itoa(os.Getuid()) }

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// makePrivateAll makes dir and, each in the one before, the folders names; all must be private,
// since who owns one can replace what is in it.
func makePrivateAll(dir string, names ...string) (string, error) {
	if err := makePrivate(dir); err != nil {
		return "", err
	}
	for _, name := range names {
		dir = filepath.Join(dir, name)
		if err := makePrivate(dir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkPrivate(dir)
}

func checkPrivate(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case ok && int(sys.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to user %d, not to us; it must be removed first", dir, sys.Uid)
	case st.Mode().Perm() != 0o700:
		return fmt.Errorf("%s has mode %#o; run: chmod 700 %s", dir, st.Mode().Perm(), dir)
	}
	return nil
}
