package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
)

// keptLogs is how many rotated files stay beside the one that is written.
const keptLogs = 5

// generation is the name of a log that was rotated i times; 0 is the one that is written.
func generation(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "." + strconv.Itoa(i)
}

// rotating is one log file of whole lines. Set path and max, then open.
type rotating struct {
	path string
	max  int64         // bytes that a file may have, unless it holds a single longer line
	pace time.Duration // how long a write may trust that the file is still in its place

	mu   sync.Mutex
	file *os.File
	own  fs.FileInfo // which file that is
	seen time.Time   // when it was last seen in its place
	size int64
	torn bool // the file ends in half a line
	err  error
}

func (r *rotating) open() error {
	file, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := file.Stat()
	last := []byte{'\n'}
	if err == nil && st.Size() > 0 {
		_, err = file.ReadAt(last, st.Size()-1)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	r.file, r.own, r.size, r.torn = file, st, st.Size(), last[0] != '\n'
	return nil
}

func (r *rotating) write(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = r.writeLocked(line)
	return r.err
}

func (r *rotating) writeLocked(line []byte) error {
	if r.file == nil {
		return fmt.Errorf("%s is closed", r.path)
	}
	if now := time.Now(); now.Sub(r.seen) >= r.pace {
		if err := r.follow(); err != nil {
			return err
		}
		r.seen = now
	}
	if r.size > 0 && r.size+int64(len(line)) > r.max {
		if err := r.rotate(); err != nil {
			return fmt.Errorf("rotate %s: %w", r.path, err)
		}
	}
	if r.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := r.file.Write(line)
	if err != nil {
		if n > 0 && r.file.Truncate(r.size) != nil {
			r.size, r.torn = r.size+int64(n), true
		}
		return fmt.Errorf("write an event: %w", err)
	}
	r.size, r.torn = r.size+int64(n), false
	return nil
}

// follow opens the log anew where its file was removed, moved or emptied under us: what is
// written to a file without a name is lost. It makes no folder, since one that is missing is
// more than a log that was tidied away.
func (r *rotating) follow() error {
	if now, err := os.Stat(r.path); err == nil && os.SameFile(r.own, now) && now.Size() >= r.size {
		return nil
	}
	old := r.file
	if err := r.open(); err != nil {
		return fmt.Errorf("open the event log anew: %w", err)
	}
	_ = old.Close() // as in rotate
	return nil
}

// rotate makes the new file before it moves the others, so that a disk without room for it
// costs no old events.
func (r *rotating) rotate() error {
	fresh, err := os.OpenFile(r.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	own, err := fresh.Stat()
	if err != nil {
		_ = fresh.Close()
		return err
	}
	for i := keptLogs; i > 0; i-- {
		err := os.Rename(generation(r.path, i-1), generation(r.path, i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = fresh.Close()
			return err
		}
	}
	if err := os.Rename(fresh.Name(), r.path); err != nil {
		_ = fresh.Close()
		return err
	}
	_ = r.file.Close() // its lines were written; there is nobody to tell
	r.file, r.own, r.size, r.torn = fresh, own, 0, false
	return nil
}

func (r *rotating) state() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// probe writes a file of its own and removes it, and sees to it that the log is where it belongs.
func (r *rotating) probe() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := r.path + ".probe"
	err := os.WriteFile(path, make([]byte, 4096), 0o600)
	if rm := os.Remove(path); err == nil {
		err = rm
	}
	if err == nil && r.file != nil {
		err = r.follow()
	}
	if err == nil {
		r.err = nil
	}
	return err
}

func (r *rotating) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
