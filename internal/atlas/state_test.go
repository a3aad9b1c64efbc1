package atlas

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longRoot is a root whose .ship is too deep for a socket.
func longRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// privateTemp is in place of /tmp/fleet-<uid>, which others use.
func privateTemp(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "fleet-0")
}

func TestTheLockExcludesASecondShip(t *testing.T) {
	root := t.TempDir()
	first, err := Lock(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(root); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Lock = %v, want ErrLocked", err)
	}
	// Commands edit the atlas beside a running ship.
	if err := Write(root, New(1)); err != nil {
		t.Fatal(err)
	}
	if err := Edit(root, func(*File) error { return nil }); err != nil {
		t.Errorf("Edit beside a ship = %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(root)
	if err != nil {
		t.Fatalf("Lock after Unlock = %v", err)
	}
	if err := again.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestAShortRootHasItsSocketsInItsOwnFolder(t *testing.T) {
	root, temp := t.TempDir(), privateTemp(t)
	if _, err := MakeStateDir(root); err != nil {
		t.Fatal(err)
	}
	// The root was longer once.
	if err := os.WriteFile(filepath.Join(StateDir(root), "sockets"), []byte("/tmp/old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := makeSockets(root, temp)
	if made != StateDir(root) || err != nil {
		t.Errorf("makeSockets = %q, %v; want %q", made, err, StateDir(root))
	}
	if got, err := Sockets(root); got != made || err != nil {
		t.Errorf("Sockets = %q, %v; want %q", got, err, made)
	}
	if _, err := os.Stat(temp); err == nil {
		t.Errorf("%s was made for nothing", temp)
	}
}

func TestALongRootHasItsSocketsElsewhere(t *testing.T) {
	root, temp := longRoot(t), privateTemp(t)
	made, err := makeSockets(root, temp)
	if err != nil || filepath.Dir(made) != temp {
		t.Fatalf("makeSockets = %q, %v; want a folder in %s", made, err, temp)
	}
	if got, err := Sockets(root); got != made || err != nil {
		t.Errorf("Sockets = %q, %v; want %q", got, err, made)
	}
	pointer := filepath.Join(StateDir(root), "sockets")
	for path, want := range map[string]os.FileMode{temp: 0o700, made: 0o700, pointer: 0o600} {
		if st, err := os.Lstat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, want mode %#o", path, err, want)
		}
	}
	if again, err := makeSockets(root, temp); again != made || err != nil {
		t.Errorf("makeSockets the second time = %q, %v; want %q", again, err, made)
	}
	if other, err := makeSockets(longRoot(t), temp); other == made || err != nil {
		t.Errorf("makeSockets of another root = %q, %v; want another folder than %q", other, err, made)
	}
}

func TestEverySocketsPathIsShort(t *testing.T) {
	for n := 1; n < 200; n++ {
		root := "/" + strings.Repeat("x", n)
		dir := StateDir(root)
		if len(filepath.Join(dir, TmuxSocket)) >= maxSocketPath {
			dir = filepath.Join(userTemp(), short(root))
		}
		if path := filepath.Join(dir, "bridge.sock"); len(path) > 103 {
			t.Errorf("a root of %d bytes has the socket %s of %d bytes", len(root), path, len(path))
		}
	}
	if path := filepath.Join(TempSockets("/r", ID{"r", "w"}), "tmux-4294967295", "default"); len(path) > 103 {
		t.Errorf("an agent's own tmux has the socket %s of %d bytes", path, len(path))
	}
}

func TestAFolderThatIsNotOursAloneIsRefused(t *testing.T) {
	cases := map[string]struct {
		spoil func(t *testing.T, dir string)
		says  string
	}{
		"readable by others": {func(t *testing.T, dir string) { mkdirMode(t, dir, 0o755) }, "chmod 700"},
		"writable by others": {func(t *testing.T, dir string) { mkdirMode(t, dir, 0o777) }, "chmod 700"},
		"another user's": {func(t *testing.T, dir string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give a directory to another user")
			}
			mkdirMode(t, dir, 0o700)
			if err := os.Chown(dir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}, "belongs to user 65534"},
		"a file": {func(t *testing.T, dir string) {
			if err := os.WriteFile(dir, nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "not a directory"},
		"a symbolic link": {func(t *testing.T, dir string) {
			if err := os.Symlink(t.TempDir(), dir); err != nil {
				t.Fatal(err)
			}
		}, "not a directory"},
	}
	expect := func(t *testing.T, what string, err error, path, says string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s = %v, want an error that names %s and says %q", what, err, path, says)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.spoil(t, StateDir(root))
			_, err := MakeStateDir(root)
			expect(t, "MakeStateDir", err, StateDir(root), c.says)
			_, err = Lock(root)
			expect(t, "Lock", err, StateDir(root), c.says)
			_, err = Sockets(root)
			expect(t, "Sockets", err, StateDir(root), c.says)

			root, temp := longRoot(t), privateTemp(t)
			c.spoil(t, temp)
			_, err = makeSockets(root, temp)
			expect(t, "makeSockets", err, temp, c.says)

			root, temp = longRoot(t), privateTemp(t)
			mkdirMode(t, temp, 0o700)
			dir := filepath.Join(temp, short(root))
			c.spoil(t, dir)
			_, err = makeSockets(root, temp)
			expect(t, "makeSockets", err, dir, c.says)
		})
	}
}

// mkdirMode makes dir with exactly mode, whatever the umask.
func mkdirMode(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.Mkdir(dir, mode), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestSocketsChecksWhereItIsSent(t *testing.T) {
	root, temp := longRoot(t), privateTemp(t)
	made, err := makeSockets(root, temp)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(made, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Sockets(root); err == nil {
		t.Errorf("Sockets = %q for a folder that others may enter, want an error", got)
	}
	pointer := filepath.Join(StateDir(root), "sockets")
	if err := errors.Join(os.Chmod(made, 0o700), os.Chmod(pointer, 0o666)); err != nil {
		t.Fatal(err)
	}
	if got, err := Sockets(root); err == nil || !strings.Contains(err.Error(), pointer) {
		t.Errorf("Sockets = %q, %v for a pointer that others may write, want an error that names it", got, err)
	}
}

// A copied atlas holds a copy of the pointer; through it, commands would reach the first one's ship.
func TestACopiedAtlasDoesNotReachTheFirstOnesShip(t *testing.T) {
	root, temp := longRoot(t), privateTemp(t)
	if _, err := makeSockets(root, temp); err != nil {
		t.Fatal(err)
	}
	moved := root + "-copy"
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	if got, err := Sockets(moved); err == nil {
		t.Errorf("Sockets = %q, want an error", got)
	}
	made, err := makeSockets(moved, temp)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Sockets(moved); got != made || err != nil {
		t.Errorf("Sockets = %q, %v after a start; want %q", got, err, made)
	}
}

func TestTempSocketsAreOnesOwn(t *testing.T) {
	root := t.TempDir()
	seen := map[string]bool{}
	for _, id := range []ID{{"r", "a"}, {"r", "b"}, {"s", "a"}} {
		dir, err := MakeTempSockets(root, id)
		if err != nil || dir != TempSockets(root, id) || seen[dir] {
			t.Errorf("MakeTempSockets(%v) = %q, %v; want a folder of its own, %q", id, dir, err, TempSockets(root, id))
		}
		seen[dir] = true
	}
	if err := os.RemoveAll(filepath.Join(userTemp(), short(root))); err != nil {
		t.Error(err)
	}
}
