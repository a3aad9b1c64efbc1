package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fleet is an atlas with a real ship.
type fleet struct {
	bench  *bench
	root   string
	ship   *daemon
	client *http.Client // of ship.sock
}

// newFleet makes an atlas with the repository r, in a folder of that name.
func (b *bench) newFleet(ctx context.Context, name string) (*fleet, error) {
	f := &fleet{bench: b, root: filepath.Join(b.dir, name)}
	err := errors.Join(os.MkdirAll(f.root, 0o700), os.MkdirAll(filepath.Join(b.dir, "home"), 0o700))
	if err != nil {
		return nil, err
	}
	f.client = &http.Client{Timeout: startTime, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(f.root, ".ship", "ship.sock"))
		},
	}}
	if _, err := f.command("init", "--port", "0", f.root).output(ctx); err != nil {
		return nil, err
	}
	_, err = f.command("repo", "add", "r", "https://forge.invalid/r.git", "--forge", "none").output(ctx)
	return f, err
}

func (f *fleet) command(args ...string) program {
	return f.bench.program("ship", append([]string{"--atlas", f.root}, args...)...)
}

// serve starts the ship and gives the time until its ready line.
func (f *fleet) serve(ctx context.Context) (time.Duration, error) {
	var err error
	var took time.Duration
	f.ship, _, took, err = f.command("serve").serve(ctx, "ready")
	return took, err
}

// stop ends the ship; its sessions live on.
func (f *fleet) stop() {
	if f.ship != nil {
		f.ship.stop()
		f.ship = nil
	}
	f.client.CloseIdleConnections()
}

// close ends the ship and its tmux server, whatever became of the run's context.
func (f *fleet) close() {
	f.stop()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	// Where the ship gives the programs of a session a place for their own sockets.
	temp, err := f.tmux("show-environment", "-t", "="+sessionName("r", workspaceName(0))+":", "TMUX_TMPDIR").output(ctx)
	if _, dir, ok := strings.Cut(strings.TrimSpace(string(temp)), "="); err == nil && ok && filepath.IsAbs(dir) {
		_ = os.RemoveAll(filepath.Dir(dir))
	}
	_ = endTmux(ctx, f.tmux)
}

func (f *fleet) tmux(args ...string) program {
	socket := filepath.Join(f.root, ".ship", "tmux.sock")
	return program{append([]string{"tmux", "-u", "-N", "-S", socket, "-f", os.DevNull}, args...), f.bench.environ(), "/"}
}

// tmuxPID is the process id of the ship's tmux server.
func (f *fleet) tmuxPID(ctx context.Context) (int, error) {
	out, err := f.tmux("display-message", "-p", "#{pid}").output(ctx)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// makeWorkspaces makes checkouts r/w0, r/w1, …, which nobody had to clone.
func (f *fleet) makeWorkspaces(ctx context.Context, n int) error {
	for i := range n {
		dir := filepath.Join(f.root, "r", workspaceName(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		argv := []string{"git", "init", "-q", "-b", "main", "--template=", dir}
		if _, err := (program{argv, f.bench.environ(), dir}).output(ctx); err != nil {
			return err
		}
	}
	return nil
}

func workspaceName(i int) string { return fmt.Sprintf("w%d", i) }

// operate calls a method of the operator API on r/w<i> and gives the time that it took.
func (f *fleet) operate(ctx context.Context, method string, i int, into any) (time.Duration, error) {
	body := fmt.Sprintf(`{"repo":"r","name":%q}`, workspaceName(i))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ship/v1/"+method, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	began := time.Now()
	resp, err := f.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s r/%s: %s: %s", method, workspaceName(i), resp.Status, bytes.TrimSpace(answer))
	}
	if into == nil {
		return took, nil
	}
	return took, json.Unmarshal(answer, into)
}

// variable reads a variable of the session of r/w<i>.
func (f *fleet) variable(ctx context.Context, i int, name string) (string, error) {
	out, err := f.tmux("show-environment", "-t", "="+sessionName("r", workspaceName(i))+":", name).output(ctx)
	_, value, _ := strings.Cut(strings.TrimSpace(string(out)), "=")
	return value, err
}

// active counts the active workspaces, as an operator sees them.
func (f *fleet) active(ctx context.Context) (int, error) {
	out, err := f.command("ls", "--json").output(ctx)
	if err != nil {
		return 0, err
	}
	var list struct{ Workspaces []struct{ Active bool } }
	if err := json.Unmarshal(out, &list); err != nil {
		return 0, err
	}
	n := 0
	for _, w := range list.Workspaces {
		if w.Active {
			n++
		}
	}
	return n, nil
}
