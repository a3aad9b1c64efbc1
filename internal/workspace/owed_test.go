package workspace

import (
	"log/slog"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

// fullLog is an event log on a disk that may be full.
type fullLog struct {
	full   error
	events []api.Event
}

func (l *fullLog) Append(e api.Event) error {
	if l.full == nil {
		l.events = append(l.events, e)
	}
	return l.full
}

// A token that was rotated while the disk was full stood in no event.
func TestWhatHappenedOnAFullDiskIsWrittenOnceThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &fullLog{full: syscall.ENOSPC}
		m := &Manager{c: Config{Events: l, Logger: slog.New(slog.DiscardHandler)}}
		id, err := atlas.NewID("r", "w")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, kind := range []string{api.TokenRotated, api.WorkspaceDeactivated} {
			m.event(id, kind, "")
			time.Sleep(time.Hour)
		}
		m.pay()
		if len(l.events) > 0 {
			t.Fatalf("a full log holds %v", l.events)
		}
		l.full = nil
		m.event(id, api.WorkspaceActivated, "")
		m.pay()
		want := []string{api.TokenRotated, api.WorkspaceDeactivated, api.WorkspaceActivated}
		if len(l.events) != len(want) {
			t.Fatalf("the log holds %v, want %q", l.events, want)
		}
		for i, e := range l.events {
			if at := start.Add(time.Duration(i) * time.Hour); e.Type != want[i] || !e.Time.Equal(at) {
				t.Errorf("event %d is %s of %v, want %s of %v, when it was", i, e.Type, e.Time, want[i], at)
			}
		}
	})
}

func TestWhatIsOwedToALogThatStaysFullIsBounded(t *testing.T) {
	l := &fullLog{full: syscall.ENOSPC}
	m := &Manager{c: Config{Events: l, Logger: slog.New(slog.DiscardHandler)}}
	for range 2 * mostOwed {
		m.event(atlas.ID{}, api.TokenRotated, "")
	}
	if n := len(m.owed.all); n != mostOwed {
		t.Errorf("%d events are kept, want %d", n, mostOwed)
	}
}
