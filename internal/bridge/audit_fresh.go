package bridge

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"fleet/api"
)

// bereft says that the database vouches for nothing while an audit stands beside it: what vouched
// for that, and all grants, have been taken away, or another database put in their place. A crash
// in the middle of a bridge's very first write leaves one line, and no grant can have been lost.
func (d *desk) bereft() (bool, error) {
	head, err := d.store.auditHead()
	if err != nil || head.Seq > 0 {
		return false, err
	}
	breaks, err := d.store.auditBreaks()
	if err != nil || slices.ContainsFunc(breaks, func(b auditBreak) bool { return b.Fresh }) {
		return false, err
	}
	f, err := openPrivate(filepath.Join(d.dir, auditFile), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the audit: %w", err)
	}
	defer f.Close()
	return !harmless(newLineReader(f)), nil
}

// harmless says that an audit is empty, or has one line that no grant stands in.
func harmless(r lineReader) bool {
	raw, _, err := r.next()
	if err != nil {
		return errors.Is(err, io.EOF)
	}
	line, err := decodeAudit(raw)
	if err != nil || line.Event == auditGrant || line.Event == auditRevoke {
		return false
	}
	_, _, err = r.next()
	return errors.Is(err, io.EOF)
}

// bereave records in a fresh store that an audit stood beside it. The embedded ship, which without
// a stored grant may do everything, is left to read: the store that is gone may have narrowed it.
func (d *desk) bereave() error {
	now := time.Now().UTC()
	local := grant{Ship: localShip, Repos: map[string][]string{api.AllRepos: {api.VerbRead}}, CreatedAt: now}
	err := d.store.db.Update(func(tx *bolt.Tx) error {
		var known grant
		found, err := fetch(tx, bucketGrants, localShip, &known)
		if err == nil && d.embedded && !found {
			err = keepIn(tx, bucketGrants, localShip, local)
		}
		return errors.Join(err, noteBreak(tx, auditBreak{Fresh: true, At: now}))
	})
	if err != nil {
		return fmt.Errorf("record that the database is a new one: %w", err)
	}
	return nil
}

// what says, for people, what was found.
func (b auditBreak) what() string {
	at := b.At.Format(time.RFC3339)
	if b.Fresh {
		return "and all others were not vouched for at " + at + ": bridge.db was gone or empty beside them, and with it all grants"
	}
	if b.Final {
		return fmt.Sprintf("is the first of %d that a bridge found which started at %s, and that the one before, which had ended, did not write", b.Added, at)
	}
	if b.Added > 0 {
		return fmt.Sprintf("is the first of %d that were not vouched for when a bridge started at %s: a crash leaves a few such lines, and somebody else may write them", b.Added, at)
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
