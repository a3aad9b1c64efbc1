package tmux

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Session is one of the server's, with the values that were asked for.
type Session struct {
	Name   string
	Values []string // in the order asked; empty where the session has none
}

// Sessions lists all sessions and reads the named variables and user options ("@…") of each, in
// one call. Values come whole, newlines and all.
func (s *Server) Sessions(ctx context.Context, names ...string) ([]Session, error) {
	// A record of each value: they are the session's, and none may pass for another.
	layouts := []layout{{[]string{"#{session_name}"}, ""}}
	for _, n := range names {
		layouts = append(layouts, layout{[]string{"#{session_name}"}, "#{" + n + "}"})
	}
	records, err := list(ctx, s.run, layouts, func(format string) []string {
		return []string{"list-sessions", "-F", format}
	})
	if err != nil {
		return nil, err
	}
	var sessions []Session
	for ; len(records) >= len(layouts); records = records[len(layouts):] {
		one := Session{Name: records[0].fields[0]}
		for _, r := range records[1:len(layouts)] {
			one.Values = append(one.Values, r.text)
		}
		sessions = append(sessions, one)
	}
	return sessions, nil
}

// Pane is one of a session's.
type Pane struct {
	Session    string
	ID         int // counts up over the server's life
	Dead       bool
	DeadStatus string // exit status of a dead one; empty where a signal ended it, or not known yet
	DeadSignal string // what ended a dead one; empty below tmux 3.3
	ActivityAt time.Time
	Command    string // what the foreground process calls itself, without control characters, cut to 200 bytes
	Dir        string // of the foreground process, as it is; only from FirstPane
}

// Panes lists the panes of all sessions in one call. How a dead one ended can be missing until
// the next call.
func (s *Server) Panes(ctx context.Context) ([]Pane, error) {
	layouts := []layout{{
		[]string{
			"#{session_name}", "#{pane_id}", "#{pane_dead}", "#{pane_dead_status}", "#{pane_dead_signal}", "#{window_activity}",
		}, "#{pane_current_command}",
	}}
	records, err := list(ctx, s.run, layouts, func(format string) []string {
		return []string{"list-panes", "-a", "-F", format}
	})
	if Is(err, NoSession) { // "no current target": the server has no session left, so no pane
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var panes []Pane
	unreaped := false
	for _, r := range records {
		f := r.fields
		id, at := paneID(f[1]), activity(f[5])
		if id < 0 || at.IsZero() {
			continue
		}
		p := Pane{
			Session: f[0], ID: id, Dead: f[2] == "1", DeadStatus: f[3], DeadSignal: f[4], ActivityAt: at, Command: printable(r.text),
		}
		unreaped = unreaped || p.unreaped()
		panes = append(panes, p)
	}
	if unreaped {
		s.reap()
	}
	return panes, nil
}

// unreaped says that tmux lost the news of how a dead pane ended.
func (p Pane) unreaped() bool { return p.Dead && p.DeadStatus == "" && p.DeadSignal == "" }

// paneID reads "%12", and gives -1 for anything else.
func paneID(s string) int {
	digits, ok := strings.CutPrefix(s, "%")
	id, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return -1
	}
	return int(id)
}

// activity reads seconds since 1970, and gives the zero time for what has no year of four digits.
func activity(s string) time.Time {
	seconds, err := strconv.ParseUint(s, 10, 63)
	at := time.Unix(int64(seconds), 0).UTC()
	if err != nil || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// FirstPane is a session's oldest pane, without Command and ActivityAt, and with Dir. It fails
// with NoSession where there is no such session. How a dead one ended can be missing until the
// next call.
func (s *Server) FirstPane(ctx context.Context, session string) (Pane, error) {
	layouts := []layout{{
		[]string{"#{pane_id}", "#{pane_dead}", "#{pane_dead_status}", "#{pane_dead_signal}"}, "#{pane_current_path}",
	}}
	records, err := list(ctx, s.run, layouts, func(format string) []string {
		return []string{"list-panes", "-s", "-t", exactly(session), "-F", format}
	})
	if err != nil {
		return Pane{}, err
	}
	oldest := Pane{ID: -1}
	for _, r := range records {
		f := r.fields
		if id := paneID(f[0]); id >= 0 && (oldest.ID < 0 || id < oldest.ID) {
			oldest = Pane{Session: session, ID: id, Dead: f[1] == "1", DeadStatus: f[2], DeadSignal: f[3], Dir: r.text}
		}
	}
	if oldest.ID < 0 {
		return Pane{}, &Error{Kind: NoSession}
	}
	if oldest.unreaped() {
		s.reap()
	}
	return oldest, nil
}

// Capture gives the last lines of pane's text, history included, without colours.
func (s *Server) Capture(ctx context.Context, pane, lines int) (string, error) {
	out, err := s.run(ctx, "", "capture-pane", "-p", "-J", "-t", "%"+strconv.Itoa(pane), "-S", "-")
	if err != nil {
		return "", err
	}
	text := strings.Split(strings.TrimRight(out, " \n"), "\n")
	text = text[max(0, len(text)-lines):]
	for i, l := range text {
		text[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(text, "\n") + "\n", nil
}
