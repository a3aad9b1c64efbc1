package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

const recordVersion = 1

// record remembers what was written, by hash: nothing of anybody's file stands in it.
type record struct {
	Version int                               `json:"version"`
	Files   map[string]map[string]*fileRecord `json:"harnesses"` // by harness and path
}

// fileRecord is one file of a harness.
type fileRecord struct {
	Entries map[string]entryRecord `json:"entries"`
	// After is the hash of the file as we left it. While it holds, taking Added out from the
	// last to the first gives the file as it was.
	After   string   `json:"after"`
	Added   []span   `json:"added,omitempty"`
	Created bool     `json:"created,omitempty"` // the file is ours
	Folders []string `json:"folders,omitempty"` // made for it
}

type entryRecord struct {
	Digest string `json:"digest"`
	Made   int    `json:"made,omitempty"` // objects around it that are ours
}

// lockTime bounds the wait for another ship that writes the record.
const lockTime = 5 * time.Second

// locked runs f with the record, while no other ship does.
func (in *Installer) locked(f func(*record) error) error {
	if err := os.MkdirAll(filepath.Dir(in.state), 0o700); err != nil {
		return err
	}
	lock := flock.New(in.state + ".lock")
	ctx, stop := context.WithTimeout(context.Background(), lockTime)
	defer stop()
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another ship that registers harnesses: %w", err)
	}
	defer lock.Close()
	r, err := in.record()
	if err != nil {
		return err
	}
	return f(r)
}

// record reads what is remembered; a missing file remembers nothing.
func (in *Installer) record() (*record, error) {
	r := &record{Version: recordVersion, Files: map[string]map[string]*fileRecord{}}
	raw, _, err := read(in.state)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(raw, r)
	if err == nil && (r.Version != recordVersion || r.Files == nil) {
		err = fmt.Errorf("its version is %d", r.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a record of this ship (%w); next: remove it; entries that it knew count as written by hand then", in.state, err)
	}
	return r, nil
}

// save writes r, for its owner alone.
func (in *Installer) save(r *record) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	out, err := renameio.NewPendingFile(in.state, renameio.WithTempDir(filepath.Dir(in.state)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer out.Cleanup()
	if _, err := out.Write(append(raw, '\n')); err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}

// of gives the record of one file, nil for none.
func (r *record) of(harness, path string) *fileRecord { return r.Files[harness][path] }

// set replaces the record of one file; nil forgets it.
func (r *record) set(harness, path string, f *fileRecord) {
	if f == nil {
		delete(r.Files[harness], path)
		if len(r.Files[harness]) == 0 {
			delete(r.Files, harness)
		}
		return
	}
	if r.Files[harness] == nil {
		r.Files[harness] = map[string]*fileRecord{}
	}
	r.Files[harness][path] = f
}
