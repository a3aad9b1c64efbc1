package workspace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/tmux"
	"fleet/internal/token"
)

// session describes the session that an activation is to make.
func (m *Manager) session(id atlas.ID, o ActivateOptions, tok token.Token) (tmux.NewSession, error) {
	env, err := m.passedOn(o.Env)
	if err != nil {
		return tmux.NewSession{}, err
	}
	dir := id.Dir(m.c.Root)
	if err := m.checkCommand(dir, o.Command, env); err != nil {
		return tmux.NewSession{}, err
	}
	tmp, err := atlas.MakeTempSockets(m.c.Root, id)
	if err != nil {
		return tmux.NewSession{}, noTemp(err)
	}
	n := tmux.NewSession{
		Name: id.SessionName(), Dir: dir, Command: o.Command,
		Options: []tmux.Option{{Name: tagOption, Value: id.Tag()}},
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		n.Env = append(n.Env, tmux.Variable{Name: name, Value: env[name]})
	}
	n.Env = append(
		n.Env,
		tmux.Variable{Name: tmpdirVariable, Value: tmp},
		tmux.Variable{Name: atlas.URLVariable, Value: m.url(id)},
		tmux.Variable{Name: atlas.TokenVariable, Value: tok.Reveal()},
	)
	return n, nil
}

// passedOn gives the operator's variables that the session gets: those that the atlas names,
// where the daemon has them, and those of this activation.
func (m *Manager) passedOn(given map[string]string) (map[string]string, error) {
	env := map[string]string{}
	for _, name := range m.c.Atlas().Env {
		if value, ok := m.c.LookupEnv(name); ok && atlas.CheckEnvName(name) == nil {
			env[name] = value
		}
	}
	maps.Copy(env, given)
	for name, value := range env {
		if err := atlas.CheckEnvName(name); err != nil {
			return nil, invalid("bad_env", err.Error(), "leave it out", err)
		}
		if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			return nil, invalid("bad_env", "the value of "+name+" holds a NUL byte or is not valid UTF-8, so it cannot be passed on unchanged", "leave it out, or encode it", nil)
		}
	}
	return env, nil
}

// checkCommand refuses a command that cannot start, since a session that ends at once explains
// nothing.
func (m *Manager) checkCommand(dir string, argv []string, env map[string]string) error {
	if len(argv) == 0 {
		return nil
	}
	for _, word := range argv {
		if strings.ContainsRune(word, 0) || !utf8.ValidString(word) {
			return invalid("bad_command", "a word of the command holds a NUL byte or is not valid UTF-8", "correct it and try again", nil)
		}
	}
	name := argv[0]
	if name == "" || name[0] == '-' {
		return invalid("bad_command", fmt.Sprintf("%q is not a command", name), "put the command's name first, behind --", nil)
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if executable(name) {
			return nil
		}
	}
	for _, d := range filepath.SplitList(m.searchPath(env)) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		if !strings.Contains(name, "/") && executable(filepath.Join(d, name)) {
			return nil
		}
	}
	return invalid("bad_command", fmt.Sprintf("the command %q is not there or cannot be executed", argv[0]),
		"install it, or give its whole path; the ship's PATH counts, not your shell's", exec.ErrNotFound)
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

// searchPath is PATH as the session's processes will have it.
func (m *Manager) searchPath(env map[string]string) string {
	if path, ok := env["PATH"]; ok {
		return path
	}
	for _, kv := range tmux.Environ(m.c.Environ) {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			return path
		}
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// Capture gives the last lines of what stands in the first pane of id's session, at least one. It fails
// with Conflict where id is not active. The text is the agent's: strip it before it reaches a
// terminal.
func (m *Manager) Capture(ctx context.Context, id atlas.ID, lines int) (string, error) {
	if !m.Active(id) {
		return "", m.notActive(id)
	}
	pane, err := m.tmux.FirstPane(ctx, id.SessionName())
	var text string
	if err == nil {
		text, err = m.tmux.Capture(ctx, pane.ID, max(1, lines))
	}
	switch {
	case tmux.Is(err, tmux.NoSession) || tmux.Is(err, tmux.NoServer):
		return "", notActive(id)
	case err != nil:
		return "", unavailable("tmux does not give the session's text", err)
	}
	return text, nil
}

func (m *Manager) notActive(id atlas.ID) error {
	if err := atlas.CheckWorkspace(m.c.Root, id); err != nil {
		return noWorkspace(id, err)
	}
	return notActive(id)
}

// AttachCommand gives what to execute, in the operator's terminal, to show the session of the
// workspace id in the atlas at root: a program's path, its arguments with their zeroth, and its
// environment, made from the operator's. It asks nobody whether the session exists.
func AttachCommand(root string, id atlas.ID, environ []string) (path string, argv, env []string, err error) {
	sockets, err := atlas.Sockets(root)
	if err != nil {
		return "", nil, nil, &api.Error{
			Code: api.Unavailable, Reason: "no_sockets", Message: "the ship's sockets cannot be found", Hint: "start the ship: ship serve", Err: err,
		}
	}
	path, argv, env, err = tmux.AttachCommand(filepath.Join(sockets, atlas.TmuxSocket), id.SessionName(), environ)
	if err != nil {
		return "", nil, nil, unavailable("tmux cannot be found", err)
	}
	return path, argv, env, nil
}
