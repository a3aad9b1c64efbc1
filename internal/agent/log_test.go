package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"fleet/api"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// expectWholeLines wants every line of the file at path to be an event, and returns how many.
func expectWholeLines(t *testing.T, path string) int {
	t.Helper()
	text := readFile(t, path)
	if text != "" && !strings.HasSuffix(text, "\n") {
		t.Errorf("%s ends in half a line: %q", path, text[strings.LastIndex(text, "\n")+1:])
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if e := (api.Event{}); json.Unmarshal([]byte(line), &e) != nil || e.ID == "" {
			t.Errorf("line %d of %s is no event: %q", n, path, line)
		}
	}
	return n
}

func TestEventsAndCallsHaveAFileEach(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	before := time.Now()
	appendEvents(t, l, numbered(0), call("agent_init"))
	for _, name := range []string{EventsFile, CallsFile} {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, want mode 0600", name, err)
		}
		var e api.Event
		if err := json.Unmarshal([]byte(readFile(t, path)), &e); err != nil {
			t.Fatalf("%s is not one event: %v", name, err)
		}
		if id, err := uuid.Parse(e.ID); err != nil || id.Version() != 7 || e.Time.Before(before) || e.Time.Location() != time.UTC {
			t.Errorf("%s: id %q and time %v, want a UUIDv7 and the time in UTC", name, e.ID, e.Time)
		}
		if isCall := e.Type == api.ToolCalled; isCall != (name == CallsFile) {
			t.Errorf("%s holds an event of type %s", name, e.Type)
		}
	}
}

func TestTheLogGrowsTo8MiB(t *testing.T) {
	l, err := OpenLog(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.events.max != 8<<20 || l.calls.max != 8<<20 {
		t.Errorf("the logs are rotated at %d and %d bytes, want 8 MiB", l.events.max, l.calls.max)
	}
}

func TestFiveRotatedFilesAreKept(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	for i := range 150 {
		appendEvents(t, l, numbered(i))
	}
	files, err := filepath.Glob(filepath.Join(dir, EventsFile+"*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
		st, err := os.Stat(f)
		if err != nil || st.Size() > l.events.max || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, mode %v (%v); want 1 to %d, 0600", f, st.Size(), st.Mode(), err, l.events.max)
		}
		expectWholeLines(t, f)
	}
	want := []string{EventsFile, EventsFile + ".1", EventsFile + ".2", EventsFile + ".3", EventsFile + ".4", EventsFile + ".5"}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	kept := reasons(readAll(t, dir, Query{}))
	if !slices.Equal(kept, count(150-len(kept), 150)) {
		t.Errorf("kept %q, want the last ones in order", kept)
	}
}

func TestAnEventLargerThanAFileIsWritten(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	appendEvents(t, l, numbered(0), api.Event{Type: api.ShipStopped, Reason: strings.Repeat("x", 5000)}, numbered(2))
	if got := readAll(t, dir, Query{}); len(got) != 3 {
		t.Errorf("Read gave %d events, want 3", len(got))
	}
}

func TestReopenedLogsGoOn(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		l := openSmallLog(t, dir)
		appendEvents(t, l, numbered(i))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(numbered(9)); err == nil || l.Err() == nil {
			t.Errorf("Append after Close = %v with Err %v, want errors", err, l.Err())
		}
	}
	if got := reasons(readAll(t, dir, Query{})); !slices.Equal(got, count(0, 3)) {
		t.Errorf("Read gave %q, want 0 to 2", got)
	}
}

func TestARotatedSizeCountsWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		l := openSmallLog(t, dir)
		appendEvents(t, l, numbered(i))
		_ = l.Close()
	}
	if st, err := os.Stat(filepath.Join(dir, EventsFile)); err != nil || st.Size() > 2000 {
		t.Errorf("a log that was reopened grew to %d bytes (%v), want at most 2000", st.Size(), err)
	}
}

// A power cut or a kill in the middle of a write leaves half a line.
func TestAfterACrashTheNextEventStartsItsOwnLine(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, EventsFile)
	half := `{"id":"x","time":"2026-01-01T00:00:00Z","type":"ship.sta`
	if err := os.WriteFile(path, []byte(half), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openSmallLog(t, dir)
	appendEvents(t, l, numbered(0), numbered(1))
	lines := strings.Split(readFile(t, path), "\n")
	if len(lines) != 4 || lines[0] != half || lines[3] != "" {
		t.Errorf("the log is %q, want the half line alone and two after it", lines)
	}
	if got := reasons(readAll(t, dir, Query{})); !slices.Equal(got, count(0, 2)) {
		t.Errorf("Read gave %q, want the two whole events", got)
	}
}

func TestConcurrentEventsStayWhole(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	l.events.max = 50_000
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				if err := l.Append(numbered(100*w + i)); err != nil {
					t.Errorf("Append = %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := readAll(t, dir, Query{}); len(got) != 400 {
		t.Errorf("Read gave %d events, want 400", len(got))
	}
}

// smallDisk is a file system of 64 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a full disk needs the right to mount a tmpfs: %v: %s", err, bytes.TrimSpace(out))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func TestAFullDiskTearsNoLineAndHealsWithRoom(t *testing.T) {
	disk := smallDisk(t)
	l, err := OpenLog(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Probe(); err != nil {
		t.Fatalf("Probe with room = %v", err)
	}
	// A third of the disk, so that there is something to free.
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 20<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	written := 0
	for ; written < 1000; written++ {
		if err = l.Append(numbered(written)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(l.Err(), syscall.ENOSPC) {
		t.Fatalf("Append on a full disk = %v, Err %v; want ENOSPC", err, l.Err())
	}
	if err := l.Probe(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Probe on a full disk = %v, want ENOSPC", err)
	}
	path := filepath.Join(disk, EventsFile)
	if n := expectWholeLines(t, path); n != written {
		t.Errorf("the log has %d lines, want the %d that were taken", n, written)
	}
	if _, err := os.Stat(path + ".probe"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Probe left its file (%v)", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := l.Probe(); err != nil || l.Err() != nil {
		t.Errorf("Probe with room again = %v, Err %v; want none", err, l.Err())
	}
	appendEvents(t, l, numbered(written))
	if n := expectWholeLines(t, path); n != written+1 || l.Err() != nil {
		t.Errorf("the log has %d lines (%v), want %d", n, l.Err(), written+1)
	}
}

// Rotation on a full disk must not push the old events out, one file for each failed attempt.
func TestAFailedRotationLosesNoEvents(t *testing.T) {
	dir := t.TempDir()
	l := openSmallLog(t, dir)
	for i := range 30 {
		appendEvents(t, l, numbered(i))
	}
	before := reasons(readAll(t, dir, Query{}))
	// In the way of the new file, as a full disk would be.
	obstacle := filepath.Join(dir, EventsFile+".new")
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 30 {
		if l.Append(numbered(i)) != nil {
			refused++
		} else {
			before = append(before, fmt.Sprint(i))
		}
	}
	if refused < 10 {
		t.Fatalf("%d events were refused, want most of 30", refused)
	}
	if got := reasons(readAll(t, dir, Query{})); !slices.Equal(got, before) {
		t.Errorf("after failed rotations the log holds %q, want %q", got, before)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, l, numbered(99))
	if got := reasons(readAll(t, dir, Query{})); !slices.Equal(got, append(before, "99")) {
		t.Errorf("after the rotation the log holds %q, want %q and 99", got, before)
	}
}

func TestALogThatCannotBeOpenedNamesItself(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, CallsFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(dir); err == nil || !strings.Contains(err.Error(), CallsFile) {
		t.Errorf("OpenLog = %v, want an error that names %s", err, CallsFile)
	}
}

// Whoever tidies up may remove, move or empty a log under a running ship.
func TestALogThatIsTakenAwayIsMadeAnew(t *testing.T) {
	aside := func(path string) error { return os.Rename(path, path+".old") }
	cases := map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   aside,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"another in its place": func(path string) error {
			return errors.Join(aside(path), os.WriteFile(path, nil, 0o600))
		},
	}
	for name, take := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openSmallLog(t, dir)
			appendEvents(t, l, numbered(0), call("agent_init"))
			for _, name := range []string{EventsFile, CallsFile} {
				if err := take(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			l.calls.seen = time.Now().Add(-callsPace)
			appendEvents(t, l, numbered(1), call("agent_status"), numbered(2))
			if got := reasons(readAll(t, dir, Query{})); !slices.Equal(got, count(1, 3)) {
				t.Errorf("Read gave %q, want what was written since", got)
			}
			if got := readAll(t, dir, Query{Type: api.ToolCalled}); len(got) != 1 || got[0].Call.Tool != "agent_status" {
				t.Errorf("Read gave the calls %+v, want the one since", got)
			}
		})
	}
}

func TestALogWhoseFolderIsMissingFailsAndHealsWithIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ship")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := openSmallLog(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(numbered(0)); !errors.Is(err, fs.ErrNotExist) || l.Err() == nil || l.Probe() == nil {
		t.Errorf("Append without the folder = %v, with Err %v and Probe %v; want errors", err, l.Err(), l.Probe())
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.Probe(); err != nil || l.Err() != nil {
		t.Errorf("Probe with the folder again = %v, Err %v; want none", err, l.Err())
	}
	appendEvents(t, l, numbered(1))
	if got := reasons(readAll(t, dir, Query{})); !slices.Equal(got, count(1, 2)) {
		t.Errorf("Read gave %q, want the event since", got)
	}
}
