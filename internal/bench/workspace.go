package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// standInWorkspace is a workspace r/w of an atlas whose ship is a stand-in: what an adapter sees
// of it is real, its directory, its tmux session and the variables in there.
type standInWorkspace struct {
	bench  *bench
	dir    string
	socket string
	url    string
	token  string
	open   bool
}

// newWorkspace makes the atlas, with the stand-in's port in it.
func (b *bench) newWorkspace(address string) (*standInWorkspace, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.Atoi(port); err != nil {
		return nil, err
	}
	root := filepath.Join(b.dir, "a")
	w := &standInWorkspace{
		bench: b, dir: filepath.Join(root, "r", "w"), socket: filepath.Join(root, ".ship", "tmux.sock"),
		url:   "http://" + address + "/workspaces/r/w/mcp",
		token: "fleet_" + strings.Repeat("A", 43), // it opens nothing, but has the form of one
	}
	return w, errors.Join(
		os.MkdirAll(filepath.Join(w.dir, ".git"), 0o700),
		os.Mkdir(filepath.Dir(w.socket), 0o700),
		os.MkdirAll(filepath.Join(b.dir, "home"), 0o700),
		os.WriteFile(filepath.Join(root, "atlas.json"), fmt.Appendf(nil, `{"fleet":1,"port":%s,"repos":{}}`, port), 0o600),
	)
}

// openSession starts the atlas's tmux server with the workspace's session, as the ship does.
func (w *standInWorkspace) openSession(ctx context.Context) error {
	_, err := w.tmux("new-session", "-d", "-s", sessionName("r", "w"), "-c", w.dir,
		"-e", "FLEET_AGENT_MCP_URL="+w.url, "-e", "FLEET_AGENT_MCP_TOKEN="+w.token, "cat").output(ctx)
	w.open = err == nil
	return err
}

func (w *standInWorkspace) tmux(args ...string) program {
	return program{append([]string{"tmux", "-u", "-f", os.DevNull, "-S", w.socket}, args...), w.bench.environ(), "/"}
}

// close ends the tmux server, whatever became of the run's context.
func (w *standInWorkspace) close() {
	if w.open {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		_ = endTmux(ctx, w.tmux)
	}
}

// endTmux ends a tmux server and waits until it no longer answers.
func endTmux(ctx context.Context, tmux func(args ...string) program) error {
	_, err := tmux("kill-server").output(ctx)
	for err == nil {
		_, err = tmux("list-sessions").output(ctx)
	}
	return ctx.Err()
}

// sessionName is the tmux session's of a workspace: the hash of both names, each with its length.
func sessionName(repo, name string) string {
	h := sha256.New()
	h.Write([]byte{1})
	for _, s := range []string{repo, name} {
		h.Write([]byte{0, 0, byte(len(s) >> 8), byte(len(s))})
		h.Write([]byte(s))
	}
	return "ws-" + hex.EncodeToString(h.Sum(nil))
}
