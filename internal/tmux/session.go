package tmux

import (
	"context"
	"fmt"
	"strings"
)

// Variable is one of a session's environment.
type Variable struct{ Name, Value string }

// NewSession describes a session that is to be made.
type NewSession struct {
	Name    string     // letters, digits and dashes
	Dir     string     // absolute; any characters
	Env     []Variable // reaches every process of the session, and no argument list
	Options []Option   // user options, set in the same breath
	Command []string   // for the first window; empty: the user's shell
}

// Option is a user option of a session; its Name starts with "@". An empty Value unsets.
type Option struct{ Name, Value string }

// New makes a session. Its processes see neither TMUX nor TMUX_PANE; give TMUX_TMPDIR in Env to
// lead a tmux that they start away from the operator's. New fails with Duplicate where a session
// of that name exists, which is then untouched. Where it fails otherwise, a session may be left
// behind: Kill it.
//
// A window whose shell ends is gone, and so may be its session. A command that fails leaves its
// window, and so its session, standing with its last words on it: what made a harness crash must
// not vanish unseen.
func (s *Server) New(ctx context.Context, n NewSession) error {
	if err := n.check(); err != nil {
		return err
	}
	_, err := s.run(ctx, n.line(), "source-file", "-")
	return err
}

func (n NewSession) check() error {
	values := append([]string{n.Dir}, n.Command...)
	for _, v := range n.Env {
		if !isName(v.Name) {
			return fmt.Errorf("%q is not a variable's name", v.Name)
		}
		values = append(values, v.Value)
	}
	for _, o := range n.Options {
		values = append(values, o.Value)
	}
	for _, v := range values {
		if err := checkValue(v); err != nil {
			return err
		}
	}
	return nil
}

// line is the whole session in one line of one source-file, so that nothing of it reaches an
// argument list and nothing runs after a failure.
//
// -c expands formats, and doubling "#" does not protect a "#[" from it. The value of an option
// is expanded once and never again, so the directory takes that way.
func (n NewSession) line() string {
	create := []string{"new-session", "-d", "-s", n.Name, "-c", "#{@fleet_dir}"}
	for _, v := range n.Env {
		create = append(create, "-e", v.Name+"="+v.Value)
	}
	if len(n.Command) > 0 {
		create = append(create, "/bin/sh", "-c", `unset TMUX TMUX_PANE; exec "$@"`, "sh")
		create = append(create, n.Command...)
	}
	commands := []string{words("set-option", "-s", "@fleet_dir", n.Dir), words(create...)}
	for _, o := range n.Options {
		commands = append(commands, o.command(n.Name))
	}
	if len(n.Command) > 0 {
		commands = append(commands, words("set-option", "-w", "-t", exactly(n.Name), "remain-on-exit", "failed"))
	}
	return line(append(commands, words("set-option", "-su", "@fleet_dir"))...)
}

func (o Option) command(session string) string {
	if o.Value == "" {
		return words("set-option", "-u", "-t", exactly(session), o.Name)
	}
	return words("set-option", "-t", exactly(session), o.Name, o.Value)
}

// Kill ends a session and the processes in it. It fails with NoSession where there is none.
func (s *Server) Kill(ctx context.Context, session string) error {
	_, err := s.run(ctx, "", "kill-session", "-t", exactly(session))
	return err
}

// Change is what Set writes into one session.
type Change struct {
	Session string
	Env     []Variable // seen by processes that start later, and by whoever reads the session
	Options []Option
}

// Set writes all changes in one call. Each session's are made in order up to the first that
// fails; other sessions' are made all the same. It fails with NoSession where one was missing.
func (s *Server) Set(ctx context.Context, changes ...Change) error {
	var input strings.Builder
	for _, c := range changes {
		var commands []string
		for _, v := range c.Env {
			if err := checkValue(v.Value); err != nil {
				return err
			}
			commands = append(commands, words("set-environment", "-t", "="+c.Session, v.Name, v.Value))
		}
		for _, o := range c.Options {
			if err := checkValue(o.Value); err != nil {
				return err
			}
			commands = append(commands, o.command(c.Session))
		}
		if len(commands) > 0 {
			input.WriteString(line(commands...))
		}
	}
	if input.Len() == 0 {
		return nil
	}
	_, err := s.run(ctx, input.String(), "source-file", "-")
	return err
}
