package bridge

import (
	"slices"

	bolt "go.etcd.io/bbolt"
)

// claimed says that what lies at url on the forge is known to come from another write than i.
func (s *store) claimed(i *intent, url string) (bool, error) {
	other := false
	err := s.db.View(func(tx *bolt.Tx) error {
		id := tx.Bucket([]byte(bucketAddresses)).Get([]byte(hashOf(url)))
		other = id != nil && string(id) != i.ID
		return nil
	})
	return other, err
}

// older says that another write of the same words was sent before i, and that nobody knows what
// became of it: what lies on the forge may be that one's.
func (s *store) older(i *intent) (bool, error) {
	open, err := s.undecided()
	if err != nil {
		return false, err
	}
	words := i.wordsHash()
	return slices.ContainsFunc(open, func(other *intent) bool {
		before := other.Line < i.Line || other.Line == i.Line && other.ID < i.ID
		return other.ID != i.ID && before && other.wordsHash() == words
	}), nil
}

// keepAddress notes what i left on the forge, unless another write has it.
func keepAddress(tx *bolt.Tx, i *intent) error {
	if i.Written == nil {
		return nil
	}
	addresses, key := tx.Bucket([]byte(bucketAddresses)), []byte(hashOf(i.Written.URL))
	if addresses.Get(key) != nil {
		return nil
	}
	return addresses.Put(key, []byte(i.ID))
}

// indexAddresses notes what the stored writes left: at each start, since a bridge of an older
// version knows nothing of addresses, and may have written last.
func indexAddresses(tx *bolt.Tx) error {
	return eachIntent(tx, func(i *intent) error { return keepAddress(tx, i) })
}
