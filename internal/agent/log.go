package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"fleet/api"
)

const (
	// EventsFile and CallsFile are the logs' names in the ship's own folder.
	EventsFile = "events.jsonl"
	CallsFile  = "calls.jsonl"

	maxLogBytes = 8 << 20
	// callsPace spares most calls a look at the folder. Of a log of calls that was taken away, what
	// is written in that time is lost; of the log of events nothing is.
	callsPace = time.Second
)

// Log takes events. An event that Append has taken is written before Append returns, so that
// what an answer claims can be read in the log. Append fills in ID and Time.
type Log interface {
	Append(api.Event) error
}

// FileLog writes events.jsonl and calls.jsonl, one JSON object a line, and renames each to
// NAME.1 … NAME.5 before it grows past 8 MiB. It is safe for concurrent use. Read reads it.
type FileLog struct {
	events, calls rotating
}

// OpenLog opens or makes both files, mode 0600, in dir.
func OpenLog(dir string) (*FileLog, error) {
	l := &FileLog{
		events: rotating{path: filepath.Join(dir, EventsFile), max: maxLogBytes},
		calls:  rotating{path: filepath.Join(dir, CallsFile), max: maxLogBytes, pace: callsPace},
	}
	if err := errors.Join(l.events.open(), l.calls.open()); err != nil {
		return nil, errors.Join(fmt.Errorf("open the event log: %w", err), l.Close())
	}
	return l, nil
}

// Append writes e, of now unless it says when it was, as one line with one write call; a line that
// was written in part is cut off again. It does not sync: an event outlives the ship, but not every loss of power.
func (l *FileLog) Append(e api.Event) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	e.ID = id.String()
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
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

// Err is what the last Append to either file met, or nil once Append or Probe succeeded again.
func (l *FileLog) Err() error { return errors.Join(l.events.state(), l.calls.state()) }

// Probe tries to write to the disk that holds the logs, for a readiness check: it finds out
// that a full disk has room again, though nobody writes events.
func (l *FileLog) Probe() error {
	return errors.Join(l.events.probe(), l.calls.probe())
}

// Close closes both files; Append fails from then on.
func (l *FileLog) Close() error { return errors.Join(l.events.close(), l.calls.close()) }
