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
// one call. Values that hold a "|" or a newline do not survive it, except in the last one a "|".
func (s *Server) Sessions(ctx context.Context, names ...string) ([]Session, error) {
	format := "#{session_name}"
	for _, n := range names {
		format += "|#{" + n + "}"
	}
	out, err := s.run(ctx, "", "list-sessions", "-F", format)
	if err != nil {
		return nil, err
	}
	var sessions []Session
	for l := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSuffix(l, "\n"), "|", len(names)+1)
		if len(fields) == len(names)+1 {
			sessions = append(sessions, Session{fields[0], fields[1:]})
		}
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
	Command    string // what runs in the foreground
	Dir        string // of the foreground process; only from FirstPane
}

// Panes lists the panes of all sessions in one call. How a dead one ended can be missing until
// the next call.
func (s *Server) Panes(ctx context.Context) ([]Pane, error) {
	const format = "#{session_name}|#{pane_id}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{window_activity}|#{pane_current_command}"
	out, err := s.run(ctx, "", "list-panes", "-a", "-F", format)
	if Is(err, NoSession) { // "no current target": the server has no session left, so no pane
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var panes []Pane
	unreaped := false
	for l := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(l, "\n"), "|", 7)
		if len(f) != 7 {
			continue
		}
		id, err1 := strconv.Atoi(strings.TrimPrefix(f[1], "%"))
		seconds, err2 := strconv.ParseInt(f[5], 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		p := Pane{
			Session: f[0], ID: id, Dead: f[2] == "1", DeadStatus: f[3], DeadSignal: f[4],
			ActivityAt: time.Unix(seconds, 0).UTC(), Command: f[6],
		}
		unreaped = unreaped || p.Dead && p.DeadStatus == "" && p.DeadSignal == ""
		panes = append(panes, p)
	}
	if unreaped {
		s.reap()
	}
	return panes, nil
}

// FirstPane is a session's oldest pane, without Command and ActivityAt, and with Dir. It fails
// with NoSession where there is no such session.
func (s *Server) FirstPane(ctx context.Context, session string) (Pane, error) {
	const format = "#{pane_id}|#{pane_dead}|#{pane_dead_status}|#{pane_current_path}"
	out, err := s.run(ctx, "", "list-panes", "-s", "-t", exactly(session), "-F", format)
	if err != nil {
		return Pane{}, err
	}
	oldest := Pane{ID: -1}
	for l := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(l, "\n"), "|", 4)
		if len(f) != 4 {
			continue
		}
		id, err := strconv.Atoi(strings.TrimPrefix(f[0], "%"))
		if err == nil && (oldest.ID < 0 || id < oldest.ID) {
			oldest = Pane{Session: session, ID: id, Dead: f[1] == "1", DeadStatus: f[2], Dir: f[3]}
		}
	}
	if oldest.ID < 0 {
		return Pane{}, &Error{Kind: NoSession}
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
