package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"fleet/api"
)

const (
	// EventsFile and CallsFile are the logs' names in the ship's own folder.
	EventsFile = "events.jsonl"
	CallsFile  = "calls.jsonl"

	maxLogBytes = 8 << 20
	keptLogs    = 5
)

// Log takes events. An event that Append has taken is written before Append returns, so that
// what an answer claims can be read in the log. Append fills in ID and Time.
type Log interface {
	Append(api.Event) error
}

// FileLog writes events.jsonl and calls.jsonl, one JSON object a line, and renames each to
// NAME.1 … NAME.5 when it has grown past 8 MiB. It is safe for concurrent use.
type FileLog struct {
	events, calls rotating
}

// OpenLog opens or makes both files, mode 0600, in dir.
func OpenLog(dir string) (*FileLog, error) {
	l := &FileLog{
		events: rotating{path: filepath.Join(dir, EventsFile), max: maxLogBytes},
		calls:  rotating{path: filepath.Join(dir, CallsFile), max: maxLogBytes},
	}
	if err := errors.Join(l.events.open(), l.calls.open()); err != nil {
		return nil, err
	}
	return l, nil
}

// Append writes e as one line with one write call; a line that was written in part is cut off
// again, so that readers never meet half a line.
func (l *FileLog) Append(e api.Event) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	e.ID, e.Time = id.String(), time.Now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file := &l.events
	if e.Type == api.ToolCalled {
		file = &l.calls
	}
	return file.write(append(line, '\n'))
}

// Err is the last error of either file, or nil once it takes events again.
func (l *FileLog) Err() error { return errors.Join(l.events.state(), l.calls.state()) }

// Probe tries to write to the disk that holds the logs, for a readiness check: it finds out
// that a full disk has room again, though nobody writes events.
func (l *FileLog) Probe() error {
	return errors.Join(l.events.probe(), l.calls.probe())
}

// Close closes both files; Append fails from then on.
func (l *FileLog) Close() error { return errors.Join(l.events.close(), l.calls.close()) }

type rotating struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File
	size int64
	err  error
}

func (r *rotating) open() error {
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	r.file, r.size = file, st.Size()
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
	if r.size > 0 && r.size+int64(len(line)) > r.max {
		if err := r.rotate(); err != nil {
			return err
		}
	}
	n, err := r.file.Write(line)
	if err != nil {
		if n > 0 {
			_ = r.file.Truncate(r.size)
		}
		return fmt.Errorf("write an event: %w", err)
	}
	r.size += int64(n)
	return nil
}

func (r *rotating) rotate() error {
	for i := keptLogs; i > 0; i-- {
		from := r.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", r.path, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", r.path, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	old := r.file
	if err := r.open(); err != nil {
		return err
	}
	return old.Close()
}

func (r *rotating) state() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// probe appends a line's worth of bytes to a file of its own and removes it.
func (r *rotating) probe() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := r.path + ".probe"
	err := os.WriteFile(path, make([]byte, 4096), 0o600)
	if rm := os.Remove(path); err == nil {
		err = rm
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
