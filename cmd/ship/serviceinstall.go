package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// installService writes the unit. With enable a ship that runs outside of it is an obstacle,
// since there is one ship an atlas.
func (a *app) installService(ctx context.Context, s service, enable bool) error {
	if enable {
		if err := a.servedOtherwise(ctx, s); err != nil {
			return err
		}
	}
	was, err := s.written()
	if err != nil {
		return err
	}
	if was != s.unit.text() {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		if err := renameio.WriteFile(s.path(), []byte(s.unit.text()), 0o644); err != nil {
			return fmt.Errorf("write the unit: %w", err)
		}
		fmt.Fprintf(a.stdout, "Wrote %s.\n", clean(s.path()))
	} else {
		fmt.Fprintf(a.stdout, "%s is as it should be.\n", clean(s.path()))
	}
	if enable {
		return a.enableService(ctx, s)
	}
	fmt.Fprintf(a.stdout, "Next (after ship down, if ship up started one):\n"+
		"  systemctl --user daemon-reload && systemctl --user enable --now %s\n", s.unit.name())
	a.sayLingering()
	return nil
}

func (a *app) enableService(ctx context.Context, s service) error {
	for _, args := range [][]string{{"daemon-reload"}, {"enable", "--now", s.unit.name()}} {
		if err := systemctl(ctx, args...); err != nil {
			return hint(err, "in a log-in of your own (not su or sudo): systemctl --user daemon-reload && systemctl --user enable --now "+s.unit.name())
		}
	}
	fmt.Fprintf(a.stdout, "%s serves %s from now on. What it says: journalctl --user -u %[1]s\n", s.unit.name(), clean(s.root))
	a.sayLingering()
	return nil
}

func (a *app) sayLingering() {
	fmt.Fprint(a.stdout, "Without lingering, systemd ends the ship and every session once you have logged out everywhere. To keep them,\n"+
		"and to have the ship start with the machine: loginctl enable-linger\n")
}

// servedOtherwise is an error where a ship runs that is not the unit's.
func (a *app) servedOtherwise(ctx context.Context, s service) error {
	c := answering(ctx, s.root)
	if c == nil || systemctl(ctx, "is-active", "--quiet", s.unit.name()) == nil {
		return nil
	}
	ship, err := c.Info(ctx)
	if err != nil {
		return nil // it has ended meanwhile
	}
	next := "end it where it was started, then try again"
	if ship.Background {
		next = "ship down, then try again; sessions live on"
	}
	return fmt.Errorf("process %d serves %s already; next: %s", ship.PID, s.root, next)
}

// written gives the unit as it lies there; "": none does. One that ship did not write, or that was
// edited, is an error.
func (s service) written() (string, error) {
	info, err := os.Lstat(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	const most = 1 << 20
	if info.Mode().IsRegular() && info.Size() <= most {
		raw, err := os.ReadFile(s.path())
		if err != nil || ours(string(raw)) {
			return string(raw), err
		}
	}
	return "", fmt.Errorf("%s was not written by ship, or was edited since; next: move it away, or keep it and change it yourself (ship service install --dry-run prints ship's)", s.path())
}
