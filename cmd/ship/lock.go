package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"

	"fleet/internal/atlas"
)

const (
	// A command that only looks whether a ship runs holds the lock for a moment.
	lockPatience = time.Second
	lockPause    = 50 * time.Millisecond
	lockPeriod   = time.Second
)

// atlasLock is the lock of the atlas that this ship serves, and the file that it is on.
type atlasLock struct {
	root string
	held *flock.Flock
	file os.FileInfo
}

// takeLock fails with atlas.ErrLocked where another ship has the lock.
func takeLock(ctx context.Context, root string) (*atlasLock, error) {
	l := &atlasLock{root: root}
	for began := time.Now(); ; {
		err := l.take()
		if !errors.Is(err, atlas.ErrLocked) || time.Since(began) > lockPatience {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockPause):
		}
	}
}

func (l *atlasLock) take() error {
	held, err := atlas.Lock(l.root)
	if err != nil {
		return err
	}
	l.file, err = os.Stat(held.Path())
	l.held = held
	return err
}

// keep takes the lock anew where its file was removed, since a second ship would then find
// another. It ends with ctx, or with an error once a second ship has it.
func (l *atlasLock) keep(ctx context.Context) error {
	tick := time.NewTicker(lockPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if now, err := os.Stat(l.held.Path()); err == nil && os.SameFile(now, l.file) {
			continue
		}
		old := l.held
		if err := l.take(); errors.Is(err, atlas.ErrLocked) {
			return err
		}
		if l.held != old {
			_ = old.Unlock()
		}
	}
}

func (l *atlasLock) release() { _ = l.held.Unlock() }

// isFree says that no process holds the atlas's lock.
func isFree(root string) (bool, error) {
	lock, err := atlas.Lock(root)
	if errors.Is(err, atlas.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, lock.Unlock()
}
