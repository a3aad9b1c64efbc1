// Package tmux is the one place that runs tmux. It drives a private server, over a socket of its
// own, in which sessions hold what must live exactly as long as they do: variables, some of them
// secret, and user options. It imports nothing of ours and knows no workspace and no token; a
// value is a value, and none ever stands in an argument list.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"
)

// Config says which server to drive.
type Config struct {
	// Socket is the server's socket, a path under 104 bytes in a folder of mode 0700. The
	// server's configuration file is written beside it.
	Socket string
	// PIDFile is where the server's process id is kept, for the day its socket is removed. It
	// belongs outside the socket's folder; empty: beside it.
	PIDFile string
	// Environ is the operator's environment. What Environ lets through becomes the server's, and
	// so every pane's.
	Environ []string
	// Logger gets what goes wrong and keeps nobody from working; nil: nobody is told.
	Logger *slog.Logger
}

// Server is a private tmux server. It is safe for concurrent use.
type Server struct {
	client
	pidFile string
	logger  *slog.Logger
	process atomic.Pointer[process] // nil before Start
}

// Open finds tmux and checks its version, without starting a server. It fails with a
// *MissingError where there is no tmux or one older than 3.2.
func Open(ctx context.Context, c Config) (*Server, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	s := &Server{
		client: client{
			path: path, socket: c.Socket, env: Environ(c.Environ),
			conf: filepath.Join(filepath.Dir(c.Socket), "tmux.conf"),
		},
		pidFile: c.PIDFile, logger: c.Logger,
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.pidFile == "" {
		s.pidFile = c.Socket + ".pid"
	}
	out, err := s.exec(ctx, "", "-V")
	if err != nil {
		return nil, err
	}
	return s, checkVersion(strings.TrimSpace(out))
}

// Start sees to a running server with our options and environment, and leaves one that runs
// already, and its sessions, as they are. A server whose socket file was removed is found again
// by its process id and told to make a new one, rather than left behind with its sessions. On a
// full disk it fails only where no server runs and the configuration is not there from before.
func (s *Server) Start(ctx context.Context) error {
	conf := replace(s.conf, options)
	if _, err := os.Lstat(s.socket); errors.Is(err, os.ErrNotExist) {
		s.revive(ctx)
	}
	if conf != nil {
		// Only a server that begins reads the file; prepare gives it to one that runs already.
		if s.Ping(ctx) != nil {
			return fmt.Errorf("write tmux's configuration: %w", conf)
		}
		s.logger.Warn("write tmux's configuration", "err", conf)
	}
	for began := time.Now(); ; {
		_, err := s.client.run(ctx, "", "start-server")
		if err == nil {
			err = s.prepare(ctx)
		}
		// A server that was told to end answers for a moment longer, and takes the newcomer's calls.
		if !Is(err, Leaving) && !Is(err, NoServer) || time.Since(began) > startPatience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(startPause):
		}
	}
}

// replace writes a file of ours, and leaves one alone that holds text already: a disk may be full.
func replace(path, text string) error {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == int64(len(text)) {
		if have, err := os.ReadFile(path); err == nil && string(have) == text {
			return nil
		}
	}
	return renameio.WriteFile(path, []byte(text), 0o600)
}

// How long Start waits for another server to be gone, and between its looks.
const (
	startPatience = 2 * time.Second
	startPause    = 20 * time.Millisecond
)

// EndIfEmpty ends the server where no session lives on it, so that nothing is left running of a
// fleet that does nothing.
func (s *Server) EndIfEmpty(ctx context.Context) error {
	out, err := s.run(ctx, "", "list-sessions", "-F", "#{session_name}")
	switch {
	case Is(err, NoServer) || Is(err, NoSocket) || Is(err, Leaving):
		return nil
	case err != nil && !Is(err, NoSession):
		return err
	case strings.TrimSpace(out) != "":
		return nil
	}
	_, err = s.run(ctx, "", "kill-server")
	if Is(err, NoServer) || Is(err, Leaving) {
		return nil
	}
	return err
}

// prepare gives a server that we may not have started our options and nothing but our
// environment, and takes note of its process.
func (s *Server) prepare(ctx context.Context) error {
	var input strings.Builder
	input.WriteString(options)
	for _, kv := range s.env {
		name, value, _ := strings.Cut(kv, "=")
		if checkValue(value) == nil {
			input.WriteString(words("set-environment", "-g", name, value) + "\n")
		}
	}
	input.WriteString("display-message -p '#{pid}'\nshow-environment -g\n")
	out, err := s.client.run(ctx, input.String(), "source-file", "-")
	if err != nil {
		return err
	}
	pid, global, _ := strings.Cut(out, "\n")
	if err := s.remember(pid); err != nil {
		// Only a server whose socket was removed is found by it.
		s.logger.Warn("keep tmux's process id", "err", err)
	}
	return s.scrub(ctx, global)
}

// scrub removes from the server's environment what our allow-list does not name: somebody else
// may have started the server, with a forge's credential in his.
func (s *Server) scrub(ctx context.Context, global string) error {
	var input strings.Builder
	for line := range strings.Lines(global) {
		name, _, ok := strings.Cut(line, "=")
		// The text of a value that holds a newline can look like a name; unsetting it is harmless.
		if ok && isName(name) && !allowed(name) && name != "PWD" {
			input.WriteString(words("set-environment", "-gu", name) + "\n")
		}
	}
	if input.Len() == 0 {
		return nil
	}
	_, err := s.run(ctx, input.String(), "source-file", "-")
	return err
}

// Ping asks the server for a sign of life.
func (s *Server) Ping(ctx context.Context) error {
	_, err := s.run(ctx, "", "display-message", "-p", "#{pid}")
	return err
}

// options are the server's. A window of ours ends with its process, except where a command was
// given and failed (see NewSession).
//
// A shell in a pane is started without TMUX and TMUX_PANE: a "tmux kill-server" typed there must
// not reach this server. SHELL is what tmux found to be the user's shell; /bin/sh stands between
// so that it may be one with a syntax of its own.
const options = `set-option -s exit-empty off
set-option -s escape-time 20
set-option -g exit-unattached off
set-option -g destroy-unattached off
set-option -g update-environment ''
set-option -g history-limit 20000
set-option -g status-left-length 60
set-option -g status-left '#{@fleet_workspace} '
set-option -g default-command 'exec /bin/sh -c '\''unset TMUX TMUX_PANE; exec "$SHELL" -l'\'''
set-option -gw remain-on-exit off
`
