package tmux

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// SessionEnv reads the named variables of one session over the server's socket, for a process
// that did not inherit them. It starts no server, takes one call and at most two seconds. A
// variable that the session lacks is absent.
func SessionEnv(ctx context.Context, socket, session string, names ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	path, err := find()
	if err != nil {
		return nil, err
	}
	c := client{path: path, socket: socket, conf: os.DevNull, env: Environ(os.Environ())}
	layouts := []layout{{[]string{"#{session_name}"}, ""}}
	for _, n := range names {
		if !isName(n) {
			return nil, fmt.Errorf("%q is not a variable's name", n)
		}
		layouts = append(layouts, layout{[]string{"#{session_name}"}, "#{" + n + "}"})
	}
	records, err := list(ctx, c.run, layouts, func(format string) []string {
		return []string{"display-message", "-p", "-t", exactly(session), format}
	})
	if err != nil {
		return nil, err
	}
	if len(records) != len(layouts) || records[0].fields[0] != session {
		return nil, &Error{Kind: NoSession}
	}
	values := map[string]string{}
	for i, n := range names {
		if v := records[i+1].text; v != "" {
			values[n] = v
		}
	}
	return values, nil
}

// AttachCommand gives what to execute, in a terminal, to show a session: a program's path, its
// arguments with their zeroth, and its environment. Nothing of the operator's own tmux is in it,
// so that it works inside one too.
func AttachCommand(socket, session string, environ []string) (path string, argv, env []string, err error) {
	if path, err = find(); err != nil {
		return "", nil, nil, err
	}
	argv = []string{program, "-u", "-N", "-S", socket, "-f", os.DevNull, "attach-session", "-t", exactly(session)}
	return path, argv, slices.Clip(Environ(environ)), nil
}
