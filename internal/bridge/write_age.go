package bridge

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// moment is a point in time that no setting of a clock moves: so long after the beginning of
// something. The zero moment is none.
type moment struct {
	Since string        `json:"since,omitempty"` // what began, such as this run of the machine
	After time.Duration `json:"after,omitempty"`
}

// from is how long after earlier m is; false where nobody can tell, since they do not count from the
// same beginning.
func (m moment) from(earlier moment) (time.Duration, bool) {
	return m.After - earlier.After, m.Since != "" && m.Since == earlier.Since && m.After >= earlier.After
}

// age is how long ago i began. Where the machine has been started anew since, that is by our clock,
// which may have been set meanwhile: where it says that i has yet to begin, age is negative, and
// notice lets i age from when that was seen. Of two ages the smaller one counts: the clock may have
// been put right since.
func (s *store) age(i *intent) time.Duration {
	if sure, ok := s.now().from(i.Began); ok {
		return sure
	}
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
	if i == nil || s.age(i) >= 0 {
		return nil
	}
	i.NoticedAt = time.Now().UTC()
	return s.db.Update(func(tx *bolt.Tx) error { return keepIn(tx, bucketIntents, i.ID, i) })
}

// processClock counts from now. It holds for as long as the process lives.
func processClock() func() moment {
	id, err := newID()
	start := time.Now()
	if err != nil {
		return func() moment { return moment{} }
	}
	return func() moment { return moment{id, time.Since(start)} }
}
