package tmux

import (
	"errors"
	"fmt"
	"strings"
)

// Kind says what went wrong with a call.
type Kind int

// The kinds. Of these only NoServer, NoSession and Duplicate prove anything about a session.
const (
	Failed     Kind = iota // for a reason that we do not know
	NoServer               // nothing listens on the socket: its sessions are gone
	NoSocket               // the socket file is gone; a server may live without it
	NoSession              // the server knows no such session
	Duplicate              // the server has a session of that name
	Unanswered             // no answer within the deadline
	Leaving                // the server ended while it was asked
)

// Error is a call of tmux that failed. It never holds what was sent.
type Error struct {
	Kind Kind
	err  error
}

// Error names the kind.
func (e *Error) Error() string {
	what := map[Kind]string{
		Failed: "tmux failed", NoServer: "no tmux server runs on the socket", NoSocket: "tmux's socket is gone",
		NoSession: "no such tmux session", Duplicate: "the tmux session exists already",
		Unanswered: "tmux does not answer", Leaving: "the tmux server ended just now",
	}[e.Kind]
	if e.err == nil {
		return what
	}
	return what + ": " + e.err.Error()
}

// Unwrap gives the cause, such as context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether err is an Error of this kind.
func Is(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// explain reads tmux's standard error. Texts that we do not know are quoted in part only: the
// message of a parse error can quote its input.
func explain(stderr string, err error) error {
	known := []struct {
		text string
		kind Kind
	}{
		{"no server running on", NoServer},
		{"(Connection refused)", NoServer},
		{"(No such file or directory)", NoSocket},
		{"can't find session", NoSession},
		{"can't find pane", NoSession},
		{"no such session", NoSession},
		{"no current target", NoSession}, // what a server without any session says of a missing one
		{"duplicate session", Duplicate},
		{"unsafe permissions", Failed},
		{"Permission denied", Failed},
		{"lost server", Leaving},
		{"server exited", Leaving},
		{"can't establish current session", Failed},
		{"not a terminal", Failed},
		{"unknown variable", Failed},
		{"unknown command", Failed},
		{"invalid option", Failed},
		{"create window failed", Failed},
		{"command too long", Failed},
	}
	for _, k := range known {
		if strings.Contains(stderr, k.text) {
			return &Error{Kind: k.kind, err: fmt.Errorf("%s (%w)", k.text, err)}
		}
	}
	return &Error{Kind: Failed, err: err}
}

// MissingError says that the machine has no tmux that will do.
type MissingError struct {
	Version string // of the one found, as it names itself; empty: none was found
	err     error
}

// Error says what was found.
func (e *MissingError) Error() string {
	if e.Version == "" {
		return "tmux is not installed"
	}
	return fmt.Sprintf("%s is too old: tmux 3.2 or newer is needed", e.Version)
}

// Hint says how to install tmux.
func (e *MissingError) Hint() string {
	return "install tmux 3.2 or newer: apt-get install tmux (Debian, Ubuntu), dnf install tmux (Fedora, RHEL), " +
		"apk add tmux (Alpine), pacman -S tmux (Arch) or brew install tmux (macOS)"
}

// Unwrap gives what the search said.
func (e *MissingError) Unwrap() error { return e.err }
