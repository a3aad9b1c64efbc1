package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fleet/api"
)

// unvouched says that dir holds an audit with something in it and a database with nothing: what
// vouched for the audit, and all grants, have been taken away.
func unvouched(dir string) bool {
	size := func(name string) int64 {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return size(storeFile) == 0 && size(auditFile) > 0
}

// bereave records in a fresh store that an audit stood beside it. The embedded ship, which without
// a stored grant may do everything, is left to read: the store that is gone may have narrowed it.
func (d *desk) bereave() error {
	now := time.Now().UTC()
	if err := d.store.addBreak(auditBreak{Fresh: true, At: now}, auditHead{}); err != nil {
		return fmt.Errorf("record that the database is a new one: %w", err)
	}
	if !d.embedded {
		return nil
	}
	g := grant{Ship: LocalShip, Repos: map[string][]string{api.AllRepos: {api.VerbRead}}, CreatedAt: now}
	return d.store.setGrant(LocalShip, &g, auditHead{})
}

// what says, for people, what was found.
func (b auditBreak) what() string {
	at := b.At.Format(time.RFC3339)
	if b.Fresh {
		return "and all others were not vouched for at " + at + ": bridge.db was gone or empty beside them, and with it all grants"
	}
	return "or a line before it was altered or removed: a bridge that started at " + at + " did not find it as it had been written"
}

// here says why the file at the audit's path is not the one that is written to, or nil. Lines for a
// file that was moved or deleted would be lost.
func (l *auditLog) here() error {
	mine, err := l.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(l.file.Name())
	if err != nil {
		return fmt.Errorf("the audit's file is gone: %w", err)
	}
	if !os.SameFile(mine, there) {
		return errors.New("another file stands in the place of the audit")
	}
	return nil
}
