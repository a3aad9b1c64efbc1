package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// remove takes the unit out of service where a systemd of the user runs, and off the disk.
func (s service) remove(ctx context.Context) error {
	running := managerRuns()
	if running {
		if err := systemctl(ctx, "disable", "--now", s.unit.name()); err != nil {
			return err
		}
	}
	// Without a manager nobody else takes away the link that enabling made.
	wanted := filepath.Join(s.dir, "default.target.wants", s.unit.name())
	if err := os.Remove(wanted); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(s.path()); err != nil {
		return err
	}
	if running {
		return systemctl(ctx, "daemon-reload")
	}
	return nil
}

// managerRuns says that this user's systemd can be spoken to.
func managerRuns() bool {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "systemd"))
	return err == nil
}

// systemctl runs systemctl --user, which may wait for the ship to start or to end.
func systemctl(ctx context.Context, args ...string) error {
	const limit = 90 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl --user %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
