package bridge

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	storeFile = "bridge.db"
	// lockPatience is what a bridge that starts gives an operator's command to let go of the file.
	lockPatience = time.Second
)

// ErrInUse says that another process holds a bridge's database: a running bridge, as a rule.
var ErrInUse = errors.New("bridge.db is in use by another process")

// store is the bridge's memory: grants, writes, the key of cursors, and how far the audit has
// come. Every change is on disk when its call returns. It is safe for concurrent use.
type store struct {
	db  *bolt.DB
	now func() moment
}

// The buckets.
const (
	bucketMeta     = "meta"     // see the keys below
	bucketGrants   = "grants"   // ship → grant
	bucketIntents  = "intents"  // id, a UUIDv7 → intent
	bucketKeys     = "keys"     // hash of ship, repo and idempotency key → id of an intent
	bucketContents = "contents" // hash of what is written, where and by whom → id of the newest intent
	// bucketAddresses: hash of a post's URL → id of the intent that it came from.
	bucketAddresses = "addresses"
	// bucketRepositories: API address and path of a repository → pin.
	bucketRepositories = "repositories"
)

const (
	metaCursorKey = "cursor_key"
	metaAuditHead = "audit_head"
	metaBreaks    = "audit_breaks"
)

// openStore makes dir, 0700, and the database in it, 0600. Others' access to either is an error.
func openStore(dir string, patience time.Duration) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the bridge's directory: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, storeFile)
	s := &store{now: bootClock()}
	var file *os.File
	err := carefully(func() (err error) {
		s.db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: patience, OpenFile: func(path string, flag int, mode os.FileMode) (*os.File, error) {
			file, err = openPrivate(path, flag, mode)
			return file, err
		}})
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrInUse
	case errors.Is(err, errDamaged):
		// bbolt has left it open and mapped, which alone keeps the lock.
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return nil, fmt.Errorf("open %s: %w (%w)", path, errDamaged, err)
	case err != nil && cutShort(path):
		return nil, fmt.Errorf("open %s: %w (%w)", path, errDamaged, err)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := carefully(func() error { return errors.Join(s.whole(file), s.prepare()) }); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", path, err), s.db.Close())
	}
	return s, nil
}

// private says when others may look into path or change it.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is open to others (mode %#o); next: chmod go= %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// openPrivate follows no link, so that a file of ours cannot be made to lie elsewhere.
func openPrivate(path string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (s *store) prepare() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{bucketMeta, bucketGrants, bucketIntents, bucketKeys, bucketContents, bucketAddresses, bucketRepositories} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		if err := indexAddresses(tx); err != nil {
			return err
		}
		meta := tx.Bucket([]byte(bucketMeta))
		if meta.Get([]byte(metaCursorKey)) != nil {
			return nil
		}
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails since Go 1.24
		return meta.Put([]byte(metaCursorKey), key)
	})
}

func (s *store) close() error { return s.db.Close() }

func (s *store) cursorKey() ([]byte, error) {
	var key []byte
	err := s.db.View(func(tx *bolt.Tx) error {
		key = append(key, tx.Bucket([]byte(bucketMeta)).Get([]byte(metaCursorKey))...)
		return nil
	})
	return key, err
}

// auditBreaks lists when the audit was found to be another one than had been written.
func (s *store) auditBreaks() ([]auditBreak, error) {
	var all []auditBreak
	err := s.db.View(func(tx *bolt.Tx) error {
		_, err := fetch(tx, bucketMeta, metaBreaks, &all)
		return err
	})
	return all, err
}

func noteBreak(tx *bolt.Tx, b auditBreak) error {
	var all []auditBreak
	if _, err := fetch(tx, bucketMeta, metaBreaks, &all); err != nil {
		return err
	}
	return keepIn(tx, bucketMeta, metaBreaks, append(all, b))
}

// vouch stores where the audit ends, and what was wrong with it, as a bridge starts or ends.
func (s *store) vouch(head auditHead, breaks ...auditBreak) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, b := range breaks {
			if err := noteBreak(tx, b); err != nil {
				return err
			}
		}
		return keepIn(tx, bucketMeta, metaAuditHead, head)
	})
}

// advance stores that the audit has come to head, for a line that nothing else is stored with.
func (s *store) advance(head auditHead) error {
	return s.db.Update(func(tx *bolt.Tx) error { return keepHead(tx, head) })
}

// keepHead stores how far the audit has come. Of two changes at a time, the one with the earlier
// line may be stored last.
func keepHead(tx *bolt.Tx, head auditHead) error {
	var now auditHead
	if _, err := fetch(tx, bucketMeta, metaAuditHead, &now); err != nil || head.Seq <= now.Seq {
		return err
	}
	return keepIn(tx, bucketMeta, metaAuditHead, head)
}

// auditHead is the last line of the audit that a change in the store vouches for.
func (s *store) auditHead() (auditHead, error) {
	var head auditHead
	err := s.db.View(func(tx *bolt.Tx) error {
		_, err := fetch(tx, bucketMeta, metaAuditHead, &head)
		return err
	})
	return head, err
}

func (s *store) grants() (map[string]grant, error) {
	all := map[string]grant{}
	err := s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketGrants)).ForEach(func(ship, raw []byte) error {
			var g grant
			if err := json.Unmarshal(raw, &g); err != nil {
				return fmt.Errorf("grant of %q: %w", ship, err)
			}
			all[string(ship)] = g
			return nil
		})
	})
	return all, err
}

// setGrant stores the ship's grant, or forgets the ship where g is nil.
func (s *store) setGrant(ship string, g *grant, head auditHead) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := keepHead(tx, head); err != nil {
			return err
		}
		if g == nil {
			return tx.Bucket([]byte(bucketGrants)).Delete([]byte(ship))
		}
		return keepIn(tx, bucketGrants, ship, g)
	})
}

func keepIn(tx *bolt.Tx, bucket, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return tx.Bucket([]byte(bucket)).Put([]byte(key), raw)
}

func fetch(tx *bolt.Tx, bucket, key string, value any) (found bool, err error) {
	raw := tx.Bucket([]byte(bucket)).Get([]byte(key))
	if raw == nil {
		return false, nil
	}
	return true, json.Unmarshal(raw, value)
}
