package bridge

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// age is how long ago i began, by our clock; negative where that says it has yet to begin. Then it
// was set back, and notice lets i age from when that was seen. Of two ages the smaller one counts:
// the clock may have been put right since.
func (i *intent) age() time.Duration {
	age := time.Since(i.StartedAt)
	if i.NoticedAt.IsZero() {
		return age
	}
	noticed := time.Since(i.NoticedAt)
	if age < 0 || noticed >= 0 && noticed < age {
		return noticed
	}
	return age
}

// notice lets an intent of the future, which may be nil, age from now on. How long ago it was sent
// nobody knows, and of the two errors one is safe: whoever is refused a repeat is told where his
// words stand, and may write others, while what is posted twice is there for all to see. So it
// counts as sent just now, and its words are kept back for ten minutes more, but no longer.
func (s *store) notice(i *intent) error {
	if i == nil || i.age() >= 0 {
		return nil
	}
	i.NoticedAt = time.Now().UTC()
	return s.db.Update(func(tx *bolt.Tx) error { return keepIn(tx, bucketIntents, i.ID, i) })
}
