package bridge

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// cutShort says that a file that isn't empty has no room for the two pages that say what is in it.
func cutShort(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0 && info.Size() < 2*int64(os.Getpagesize())
}

// errDamaged says that the database isn't what was written.
var errDamaged = errors.New("it is damaged: move it away and start again, then give all grants anew")

// carefully makes an error of what reading a damaged database leads to: bbolt panics at a page that
// makes no sense, and beyond the end of a file that was cut off memory faults.
func carefully(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w (%v)", errDamaged, p)
		}
	}()
	return read()
}

// whole reads everything once, so that what is damaged shows now: later, a page that isn't there ends
// the process.
func (s *store) whole(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return s.db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("%w (it was cut off)", errDamaged)
		}
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}
