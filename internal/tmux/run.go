package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// timeout bounds one call; a call takes a few milliseconds.
	timeout = 5 * time.Second
	// maxOutput bounds what one call may answer: 10,000 sessions with a record each.
	maxOutput = 64 << 20
)

// client is what one call of tmux needs.
type client struct {
	path, socket, conf string
	env                []string
}

// run asks the server to execute a command. Only start-server ever starts one. Values go in
// through stdin with source-file, never through args, which every user of the machine can read.
func (c client) run(ctx context.Context, stdin string, args ...string) (string, error) {
	global := []string{"-u", "-N", "-S", c.socket, "-f", c.conf}
	if args[0] == "start-server" {
		global = append(global[:1:1], global[2:]...)
	}
	return c.exec(ctx, stdin, append(global, args...)...)
}

// exec is the one function that executes tmux.
func (c client) exec(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, args...)
	// The server inherits the directory of the client that starts it, and a pane whose own
	// directory is gone falls back to it. So "/" for all.
	cmd.Dir, cmd.Env = "/", c.env
	cmd.WaitDelay = time.Second
	out, errs := &limited{max: maxOutput}, &limited{max: 4096}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), out, errs
	err := cmd.Run()
	switch {
	case out.cut:
		return "", fmt.Errorf("tmux answered with more than %d bytes", maxOutput)
	case ctx.Err() != nil:
		return "", &Error{Kind: Unanswered, err: context.Cause(ctx)}
	case err != nil:
		return "", explain(errs.buf.String(), err)
	}
	return out.buf.String(), nil
}

// limited keeps the first max bytes and notes whether there were more. It takes all, so that
// tmux is never stopped by a full pipe.
type limited struct {
	buf bytes.Buffer
	max int
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	keep := min(len(p), l.max-l.buf.Len())
	l.buf.Write(p[:keep])
	l.cut = l.cut || keep < len(p)
	return len(p), nil
}

// find looks for tmux on PATH, then where systems keep it: a harness may have scrubbed PATH.
func find() (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin"} {
		path := filepath.Join(dir, program)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &MissingError{err: err}
}

const program = "tmux"

// checkVersion wants tmux 3.2, the first with new-session -e. Development versions call
// themselves "next-3.6" or "master".
func checkVersion(printed string) error {
	m := regexp.MustCompile(`(\d+)\.(\d+)`).FindStringSubmatch(printed)
	if m == nil {
		if strings.Contains(printed, "master") {
			return nil
		}
		return &MissingError{Version: printed}
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if errors.Join(err1, err2) != nil || major < 3 || major == 3 && minor < 2 {
		return &MissingError{Version: printed}
	}
	return nil
}
