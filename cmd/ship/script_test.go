//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"fleet/internal/atlas"
)

// bin holds the real programs, built once.
func buildPrograms(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	cmd := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "fleet/cmd/ship", "fleet/cmd/agent-mcp")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// TestScripts runs the real programs as their users do, one script a story. Each has a home, an
// atlas and a tmux of its own.
func TestScripts(t *testing.T) {
	bin := buildPrograms(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			home, err := os.MkdirTemp("", "fl") // short, for the sockets in it
			if err != nil {
				return err
			}
			env.Defer(func() { cleanUp(env, home) })
			env.Setenv("HOME", home)
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("SHELL", "/bin/sh")
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"} {
				env.Setenv(name, "Ann Example")
			}
			for _, name := range []string{"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} {
				env.Setenv(name, "ann@example.org")
			}
			return makeOrigin(filepath.Join(home, "src", "widgets"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually,
			"status":     exitStatus,
			"silent":     silent,
		},
	})
}

// makeOrigin makes a small repository to clone from.
func makeOrigin(dir string) error {
	script := `git init -q -b main . && echo hello >README && git add . && git commit -q -m first && git branch side`
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ann Example", "GIT_COMMITTER_NAME=Ann Example", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_EMAIL=ann@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("make a repository: %w: %s", err, out)
	}
	return nil
}

// cleanUp ends the ship and the tmux server of every atlas in home.
func cleanUp(env *testscript.Env, home string) {
	files, _ := filepath.Glob(filepath.Join(home, "*", atlas.FileName))
	for _, file := range files {
		root, err := filepath.EvalSymlinks(filepath.Dir(file))
		if err != nil {
			continue
		}
		if c, err := clientOf(root); err == nil {
			if ship, err := c.Info(context.Background()); err == nil {
				_ = syscall.Kill(ship.PID, syscall.SIGTERM)
			}
		}
		if dir, err := atlas.Sockets(root); err == nil {
			endServer(filepath.Join(dir, atlas.TmuxSocket))
		}
	}
	_ = os.RemoveAll(home)
}

// endServer ends the process that listens on a tmux socket.
func endServer(socket string) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			_ = syscall.Kill(int(peer.Pid), syscall.SIGTERM)
		}
	})
}

// eventually repeats a command until it succeeds (with "stdout PATTERN" behind "--" until its
// output holds PATTERN), for a minute.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(time.Minute)
	want := ""
	for i, arg := range args {
		if arg == "--" {
			want = strings.Join(args[i+1:], " ")
			args = args[:i]
			break
		}
	}
	for {
		err := ts.Exec(args[0], args[1:]...)
		holds := err == nil && strings.Contains(ts.ReadFile("stdout"), want)
		if holds != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: not within a minute: %v, stdout %q", strings.Join(args, " "), err, ts.ReadFile("stdout"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// silent listens on loopback, never says a word, and puts its address into $SILENT.
func silent(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("SILENT", l.Addr().String())
}

// exitStatus runs a command and compares its exit status.
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg {
		ts.Fatalf("usage: status N command…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d; stderr: %s", strings.Join(args[1:], " "), got, want, ts.ReadFile("stderr"))
	}
}
