package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleet/api"
)

// openSmallLog is a log whose files hold about ten events.
func openSmallLog(t *testing.T, dir string) *FileLog {
	t.Helper()
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	l.events.max, l.calls.max = 2000, 2000
	return l
}

func appendEvents(t *testing.T, l *FileLog, events ...api.Event) {
	t.Helper()
	for _, e := range events {
		if err := l.Append(e); err != nil {
			t.Fatalf("Append(%+v) = %v", e, err)
		}
	}
}

func call(tool string) api.Event {
	return api.Event{Type: api.ToolCalled, Call: &api.Call{Stage: "mcp", Tool: tool, Outcome: api.OutcomeOK}}
}

// numbered is an event that a test knows again by its reason.
func numbered(i int) api.Event {
	return api.Event{Type: api.WorkspaceDeactivated, Reason: fmt.Sprint(i)}
}

func readAll(t *testing.T, dir string, q Query) []api.Event {
	t.Helper()
	var events []api.Event
	err := Read(t.Context(), dir, q, func(e api.Event, raw []byte) error {
		var again api.Event
		if err := json.Unmarshal(raw, &again); err != nil || again.ID != e.ID {
			t.Errorf("the raw line %q is not the event %s: %v", raw, e.ID, err)
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		t.Fatalf("Read(%+v) = %v", q, err)
	}
	return events
}

func reasons(events []api.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Reason)
	}
	return out
}

func count(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func TestReadGivesRotatedFilesOldestFirst(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	for i := range 40 {
		appendEvents(t, l, numbered(i))
	}
	if _, err := os.Stat(filepath.Join(dir, EventsFile+".2")); err != nil {
		t.Fatalf("the log was not rotated twice: %v", err)
	}
	if got, want := reasons(readAll(t, dir, Query{})), count(0, 40); !slices.Equal(got, want) {
		t.Errorf("Read gave %q, want %q", got, want)
	}
}

func TestReadChoosesAsAsked(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	appendEvents(
		t, l,
		api.Event{Type: api.ShipStarted, Reason: "0"},
		api.Event{Type: api.WorkspaceActivated, Repo: "r", Workspace: "a", Reason: "1"},
		call("agent_init"),
		api.Event{Type: api.WorkspaceActivated, Repo: "r", Workspace: "b", Reason: "2"},
		api.Event{Type: api.AgentInitialized, Repo: "s", Workspace: "a", Reason: "3"},
		call("agent_status"),
	)
	all := readAll(t, dir, Query{})
	cases := map[string]struct {
		query Query
		want  []string // a call has no reason
	}{
		"everything but calls":     {Query{}, []string{"0", "1", "2", "3"}},
		"with calls in their time": {Query{Calls: true}, []string{"0", "1", "", "2", "3", ""}},
		"only calls":               {Query{Type: api.ToolCalled}, []string{"", ""}},
		"a type":                   {Query{Type: api.WorkspaceActivated}, []string{"1", "2"}},
		"a type, never a call":     {Query{Type: api.ShipStarted, Calls: true}, []string{"0"}},
		"a repo":                   {Query{Repo: "r"}, []string{"1", "2"}},
		"a workspace":              {Query{Repo: "r", Workspace: "a"}, []string{"1"}},
		"since the third":          {Query{Since: all[2].Time}, []string{"2", "3"}},
		"since later":              {Query{Since: time.Now().Add(time.Hour)}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := reasons(readAll(t, dir, c.query)); !slices.Equal(got, c.want) {
				t.Errorf("Read(%+v) gave %q, want %q", c.query, got, c.want)
			}
		})
	}
}

// A file is passed over by its age, and only where that shows that nothing in it counts.
func TestReadOfSinceOpensNoOlderFile(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	for i := range 40 {
		appendEvents(t, l, numbered(i))
	}
	long := time.Now().Add(-time.Hour)
	for i := keptLogs; i > 1; i-- {
		err := os.Chtimes(generation(filepath.Join(dir, EventsFile), i), long, long)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	all := readAll(t, dir, Query{})
	first := all[len(all)-9] // in the file before the last
	if got := reasons(readAll(t, dir, Query{Since: first.Time})); !slices.Equal(got, count(31, 40)) {
		t.Errorf("Read(since event 31) gave %q, want 31 to 39", got)
	}
	got := reasons(readAll(t, dir, Query{Since: long.Add(time.Minute)}))
	if len(got) == 40 || !slices.Equal(got, count(40-len(got), 40)) {
		t.Errorf("Read(since a time after the older files were written) gave %q, want what the two newest hold", got)
	}
}

func TestReadOfAFolderWithoutLogsGivesNothing(t *testing.T) {
	if got := readAll(t, t.TempDir(), Query{Calls: true}); got != nil {
		t.Errorf("Read gave %v, want nothing", got)
	}
}

func TestReadPassesOverHalfAndForeignLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, EventsFile)
	text := `{"id":"x","time":"2026-01-01T00:00:00Z","type":"ship.started","reason":"0"}
{"id":"x","time":"2026-01-01T00:00:00Z","ty
not json

[1]
{"other":"program"}
{"id":"x","time":"2026-01-01T00:00:01Z","type":"ship.started","reason":"1"}
{"id":"x","time":"2026-01-01T00:00:02Z","type":"ship.started","reason":"2"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The last line has no newline yet: it may be half of itself.
	if got, want := reasons(readAll(t, dir, Query{})), []string{"0", "1"}; !slices.Equal(got, want) {
		t.Errorf("Read gave %q, want %q", got, want)
	}
}

func TestReadReturnsYieldsErrorAndTheContexts(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	appendEvents(t, l, numbered(0), numbered(1))
	stop := errors.New("stop")
	seen := 0
	err := Read(t.Context(), dir, Query{Follow: true}, func(api.Event, []byte) error { seen++; return stop })
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("Read = %v after %d events, want yield's error after one", err, seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = Read(ctx, dir, Query{Follow: true}, func(api.Event, []byte) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
}

func TestFollowingReadMissesNothingAcrossRotations(t *testing.T) {
	const events = 150
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	var got []string
	reached := make(chan int, events)
	done := make(chan error)
	go func() {
		// Reading begins before the log exists.
		done <- Read(ctx, dir, Query{Follow: true}, func(e api.Event, _ []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, e.Reason)
			reached <- len(got)
			if len(got) == events {
				cancel()
			}
			return nil
		})
	}()
	l := openSmallLog(t, dir)
	for i := range events {
		appendEvents(t, l, numbered(i))
		// Thirty events fill three files; five are kept.
		for i%30 == 29 && len(reached) <= i {
			if ctx.Err() != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
	if want := count(0, events); !slices.Equal(got, want) {
		t.Errorf("Read gave %d events, want %d:\n%s", len(got), events, strings.Join(got, " "))
	}
}

// The narrow moments are between a reader's last read and the rotation, and between two renames.
func TestATailThatKeepsUpMissesNothing(t *testing.T) {
	const events, ahead = 4000, 20
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	var seen atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range events {
			if err := l.Append(numbered(i)); err != nil {
				t.Errorf("Append = %v", err)
				return
			}
			// Five files keep more than these.
			for int64(i)-seen.Load() > ahead && !t.Failed() {
				runtime.Gosched()
			}
		}
	}()
	tail := &tail{path: filepath.Join(dir, EventsFile)}
	defer tail.close()
	deadline := time.Now().Add(time.Minute)
	for want := 0; want < events && time.Now().Before(deadline) && !t.Failed(); {
		line, err := tail.next()
		if err != nil {
			t.Errorf("next() = %v", err)
		}
		if line == nil {
			continue
		}
		var e api.Event
		if err := json.Unmarshal(line, &e); err != nil || e.Reason != fmt.Sprint(want) {
			t.Errorf("next() = %q, want event %d", line, want)
		}
		want++
		seen.Store(int64(want))
	}
	<-done
	if seen.Load() != events && !t.Failed() {
		t.Errorf("the tail gave %d events, want %d", seen.Load(), events)
	}
}

func TestFollowingReadWaitsForTheRestOfALine(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tail := &tail{path: file.Name()}
	defer tail.close()
	for _, step := range []struct{ write, want string }{
		{"one\ntw", "one\n"},
		{"", ""},
		{"o\nthree", "two\n"},
		{"", ""},
	} {
		if _, err := file.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
		if got, err := tail.next(); string(got) != step.want || err != nil {
			t.Fatalf("after %q: next() = %q, %v; want %q", step.write, got, err, step.want)
		}
	}
	// A writer that met a full disk cuts its half line off, and another line comes there.
	if err := file.Truncate(int64(len("one\ntwo\n"))); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("four\n"), int64(len("one\ntwo\n"))); err != nil {
		t.Fatal(err)
	}
	if got, err := tail.next(); string(got) != "four\n" || err != nil {
		t.Errorf("next() = %q, %v; want the line that replaced the half one", got, err)
	}
}

func TestFollowingReadGoesOnInALogThatWasTakenAway(t *testing.T) {
	cases := map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	}
	for name, take := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openSmallLog(t, dir)
			tail := &tail{path: filepath.Join(dir, EventsFile)}
			defer tail.close()
			next := func() string {
				line, err := tail.next()
				if err != nil {
					t.Fatalf("next() = %v", err)
				}
				return string(line)
			}
			for i := range 40 {
				appendEvents(t, l, numbered(i))
			}
			for range 40 {
				next()
			}
			if err := take(tail.path); err != nil {
				t.Fatal(err)
			}
			if got := next(); got != "" {
				t.Errorf("next() without the log = %q, want nothing", got)
			}
			appendEvents(t, l, numbered(40))
			if got := next(); !strings.Contains(got, `"reason":"40"`) {
				t.Errorf("next() = %q, want the event that was written since", got)
			}
			if got := next(); got != "" {
				t.Errorf("next() = %q, want nothing more", got)
			}
		})
	}
}
