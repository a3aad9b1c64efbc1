package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/server"
)

const (
	logName      = "ship.log"
	maxShipLog   = 8 << 20
	startTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second
	pollPeriod   = 20 * time.Millisecond
)

// ensureShip gives a client of the running ship, and starts one in the background if none runs.
func (a *app) ensureShip(ctx context.Context, root string) (*server.Client, error) {
	if c := answering(ctx, root); c != nil {
		return c, nil
	}
	free, err := isFree(root)
	if err != nil {
		return nil, err
	}
	if !free { // it starts or ends just now, or its socket is being made anew
		return waitForShip(ctx, root, nil)
	}
	c, err := startShip(ctx, root)
	if err != nil {
		// Somebody else may have started one at the same moment.
		if free, _ := isFree(root); !free {
			return waitForShip(ctx, root, nil)
		}
	}
	return c, err
}

// answering gives a client of the atlas's ship, or nil where none answers.
func answering(ctx context.Context, root string) *server.Client {
	c, err := clientOf(root)
	if err != nil {
		return nil
	}
	if _, err = c.Info(ctx); err != nil {
		return nil
	}
	return c
}

func startShip(ctx context.Context, root string) (*server.Client, error) {
	log, err := openShipLog(root)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	from, err := log.Seek(0, 2)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(executable(), "serve", "--background", "--atlas", root)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, "/"
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the ship: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c, err := waitForShip(ctx, root, ended)
	if err != nil {
		return nil, startFailure(root, from, err)
	}
	// The one that answers may be another's, and ours still waiting for the lock: it must not
	// take that on the day the other ends.
	if ship, err := c.Info(ctx); err == nil && ship.PID != cmd.Process.Pid {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	}
	return c, nil
}

func openShipLog(root string) (*os.File, error) {
	state, err := atlas.MakeStateDir(root)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(state, logName)
	if st, err := os.Stat(path); err == nil && st.Size() > maxShipLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// startFailure says what the ship said before it ended, which went to its log.
func startFailure(root string, from int64, err error) error {
	path := filepath.Join(atlas.StateDir(root), logName)
	raw, readErr := os.ReadFile(path)
	if readErr != nil || int64(len(raw)) <= from {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(raw[from:])), "\n")
	last := strings.TrimPrefix(lines[len(lines)-1], "ship: ")
	return fmt.Errorf("the ship did not start: %s (log: %s)", last, path)
}

// waitForShip polls until the ship answers, has ended, or takes too long.
func waitForShip(ctx context.Context, root string, ended <-chan error) (*server.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if c := answering(ctx, root); c != nil {
			return c, nil
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("it ended: %w", errors.Join(err, server.ErrNoShip))
		case <-ctx.Done():
			return nil, fmt.Errorf("a ship holds %s but does not answer; next: look at %s", root, filepath.Join(atlas.StateDir(root), logName))
		case <-time.After(pollPeriod):
		}
	}
}

func (a *app) downCommand() *cobra.Command {
	sessions := false
	cmd := &cobra.Command{
		Use: "down", Short: "Stop the ship that ship up started; sessions live on", Args: exactly(0),
		SuggestFor: []string{"stop", "halt", "kill"},
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			root, err := a.root()
			if err != nil {
				return err
			}
			c, err := clientOf(root)
			var ship api.Ship
			if err == nil {
				ship, err = c.Info(cmd.Context())
			}
			switch {
			case errors.Is(err, server.ErrNoShip):
				fmt.Fprintf(a.stdout, "No ship serves %s.\n", clean(root))
				return nil
			case err != nil:
				return err
			case !ship.Background:
				return fmt.Errorf("the ship of %s (process %d) runs %s", root, ship.PID, elsewhere(cmd.Context(), root))
			}
			if sessions {
				if err := a.endSessions(cmd.Context(), c); err != nil {
					return err
				}
			}
			return a.stopShip(cmd.Context(), c, root)
		}),
	}
	cmd.Flags().BoolVar(&sessions, "sessions", false, "deactivate every workspace first, so that nothing is left running")
	return cmd
}

// elsewhere says where a ship runs that ship up has not started, and how it ends.
func elsewhere(ctx context.Context, root string) string {
	if name := (unit{root: root}).name(); systemctl(ctx, "is-active", "--quiet", name) == nil {
		return "under systemd; next: systemctl --user stop " + name
	}
	return "in the foreground; next: end it where it was started"
}

func (a *app) endSessions(ctx context.Context, c *server.Client) error {
	all, err := c.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, ws := range all.Workspaces {
		if !ws.Active {
			continue
		}
		t := api.WorkspaceName{Repo: ws.Repo, Name: ws.Name}
		if _, err := c.Deactivate(ctx, t); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s is deactivated.\n", targetName(t))
	}
	return nil
}

func (a *app) stopShip(ctx context.Context, c *server.Client, root string) error {
	if _, err := c.Stop(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		free, err := isFree(root)
		if err != nil {
			return err
		}
		if free {
			fmt.Fprintf(a.stdout, "The ship of %s has ended; its files stay, and so do sessions that were not deactivated.\n", clean(root))
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the ship of %s has not ended within %s; next: look at %s", root, stopTimeout, filepath.Join(atlas.StateDir(root), logName))
		case <-time.After(pollPeriod):
		}
	}
}

// detached gives a child a session of its own, so that a closed terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
