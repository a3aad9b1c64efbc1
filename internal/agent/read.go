package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"fleet/api"
)

// pollEvery is how often a following reader looks for new lines.
const pollEvery = 200 * time.Millisecond

// Query chooses events. The zero Query chooses all that are kept, tool calls aside.
type Query struct {
	Since     time.Time // zero: from the oldest one that is kept
	Repo      string    // "": any
	Workspace string    // "": any
	Type      string    // "": any; api.ToolCalled includes Calls
	Calls     bool      // the calls of tools too, in their place by time
	Follow    bool      // go on with what is written from now on, until ctx ends
}

// Read gives yield the chosen events that a FileLog wrote in dir, oldest first, each with its
// line as it stands in the file, which yield may keep. Lines that are no whole event are passed
// over. It needs no running ship, and may run while one writes and rotates.
//
// It returns the first error of yield, and ctx's when that ends first, as it always does for a
// query that follows. A folder without logs holds no events.
func Read(ctx context.Context, dir string, q Query, yield func(e api.Event, raw []byte) error) error {
	var streams []*stream
	if q.Type != api.ToolCalled {
		streams = append(streams, newStream(filepath.Join(dir, EventsFile), q))
	}
	if q.Calls || q.Type == api.ToolCalled {
		streams = append(streams, newStream(filepath.Join(dir, CallsFile), q))
	}
	defer func() {
		for _, s := range streams {
			s.tail.close()
		}
	}()
	for {
		if err := drain(ctx, streams, yield); err != nil || !q.Follow {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// drain gives yield all that the streams have now, merged by time.
func drain(ctx context.Context, streams []*stream, yield func(api.Event, []byte) error) error {
	for {
		var first *stream
		for _, s := range streams {
			if err := s.fill(ctx); err != nil {
				return err
			}
			if s.raw != nil && (first == nil || s.event.Time.Before(first.event.Time)) {
				first = s
			}
		}
		if first == nil {
			return nil
		}
		event, raw := first.event, first.raw
		first.event, first.raw = api.Event{}, nil
		if err := yield(event, raw); err != nil {
			return err
		}
	}
}

// stream is what a query chose of one log. raw is nil where there is none at the moment.
type stream struct {
	tail  *tail
	query Query

	event api.Event
	raw   []byte
}

func newStream(path string, q Query) *stream {
	return &stream{tail: &tail{path: path, since: q.Since}, query: q}
}

// fill reads on to the next chosen event, unless one is waiting.
func (s *stream) fill(ctx context.Context) error {
	for s.raw == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := s.tail.next()
		if err != nil || line == nil {
			return err
		}
		var e api.Event
		if json.Unmarshal(line, &e) == nil && s.query.chooses(e) {
			s.event, s.raw = e, bytes.TrimSuffix(line, []byte("\n"))
		}
	}
	return nil
}

func (q Query) chooses(e api.Event) bool {
	return e.Type != "" && !e.Time.Before(q.Since) &&
		(q.Type == "" || q.Type == e.Type) &&
		(q.Repo == "" || q.Repo == e.Repo) &&
		(q.Workspace == "" || q.Workspace == e.Workspace)
}
