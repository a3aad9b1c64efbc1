package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode"

	"fleet/internal/tmux"
)

var errNoGit = errors.New("git is not installed")

const maxGitOutput = 16 << 20

// git runs git in one directory, with a clean environment, without a terminal, and so that it
// never asks.
type git struct {
	dir      string
	config   []string // -c settings, before the command
	env      []string
	stdin    string
	progress io.Writer // gets standard error, line by line; may be nil
}

// remoteGit is for commands that talk to a remote: with the operator's own configuration, since
// it says how to reach what he can reach, but without hooks and without questions.
func (m *Manager) remoteGit(dir string, progress io.Writer) *git {
	return &git{
		dir: dir, progress: progress,
		config: []string{
			"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.interactive=false",
			"protocol.ext.allow=never", "gc.auto=0", "advice.detachedHead=false",
			"http.lowSpeedLimit=1000", "http.lowSpeedTime=60",
		},
		env: append(m.networkEnv(),
			// Set and empty, GIT_ASKPASS keeps git from all other askers (gitcredentials(7)).
			"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
			"GCM_INTERACTIVE=never", "GIT_SSH_COMMAND="+m.sshCommand(), "GIT_DEFAULT_REF_FORMAT=files", "LC_ALL=C"),
	}
}

// networkEnv is what reaches tmux, plus what says how to reach the network.
func (m *Manager) networkEnv() []string {
	env := tmux.Environ(m.c.Environ)
	for _, kv := range m.c.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir", "curl_ca_bundle":
			env = append(env, kv)
		}
	}
	return env
}

// sshCommand is the operator's own, as git's global configuration has it, with the options that
// keep ssh from asking and from waiting for ever.
func (m *Manager) sshCommand() string {
	g := &git{dir: "/", env: append(m.networkEnv(), "LC_ALL=C")}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ssh := "ssh"
	if own, err := g.run(ctx, "config", "--global", "--includes", "--get", "core.sshCommand"); err == nil && strings.TrimSpace(own) != "" {
		ssh = strings.TrimSpace(own)
	}
	return ssh + " -oBatchMode=yes -oConnectTimeout=20"
}

// run executes git and gives its standard output. Its own process group ends with ctx, so that
// no ssh or pack process is left over.
func (g *git) run(ctx context.Context, args ...string) (string, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoGit, err)
	}
	var all []string
	for _, c := range g.config {
		all = append(all, "-c", c)
	}
	cmd := exec.CommandContext(ctx, path, append(all, args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.WaitDelay = 2 * time.Second
	// A session of its own has no terminal to ask on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, errs := &bounded{max: maxGitOutput}, &lines{to: g.progress}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(g.stdin), out, errs
	err = cmd.Run()
	errs.flush()
	if out.cut {
		return "", fmt.Errorf("git %s printed more than %d bytes", args[0], maxGitOutput)
	}
	if err != nil {
		return "", &gitError{command: args[0], last: errs.last, err: err}
	}
	return out.buf.String(), nil
}

// gitError is a git command that failed, with its last lines, already cleaned.
type gitError struct {
	command string
	last    []string
	err     error
}

func (e *gitError) Error() string { return "git " + e.command + ": " + e.err.Error() }
func (e *gitError) Unwrap() error { return e.err }

// words are what git gives as the reason.
func (e *gitError) words() string {
	var reasons []string
	for _, l := range e.last {
		for _, mark := range []string{"fatal: ", "error: ", "ERROR: ", "remote: ", "ssh: "} {
			if text, ok := strings.CutPrefix(l, mark); ok && strings.TrimSpace(text) != "" {
				reasons = append(reasons, strings.TrimSpace(text))
				break
			}
		}
		if strings.Contains(l, "Permission denied") || strings.Contains(l, "Host key verification failed") {
			reasons = append(reasons, l)
		}
	}
	return strings.Join(reasons[max(0, len(reasons)-4):], "; ")
}

// bounded keeps the first max bytes and notes whether there were more.
type bounded struct {
	buf bytes.Buffer
	max int
	cut bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), b.max-b.buf.Len())
	b.buf.Write(p[:keep])
	b.cut = b.cut || keep < len(p)
	return len(p), nil
}

const (
	keptLines    = 40
	maxLineBytes = 1024
)

// lines passes on a program's messages line by line, cleaned, and keeps the last ones.
type lines struct {
	to   io.Writer
	last []string
	part []byte
}

// Write takes a carriage return for the end of a line: progress is drawn with them.
func (l *lines) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' || b == '\r' {
			l.flush()
		} else if len(l.part) < maxLineBytes {
			l.part = append(l.part, b)
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	text := clean(string(l.part))
	l.part = l.part[:0]
	if text == "" {
		return
	}
	l.last = append(l.last, text)
	l.last = l.last[max(0, len(l.last)-keptLines):]
	if l.to != nil {
		// A reader who left must not stop the work; what it says is kept for the error.
		_, _ = io.WriteString(l.to, text+"\n")
	}
}

// clean drops control characters, which a remote can send, and masks what stands before the "@"
// of an address, which git's own configuration may have put there.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
	return regexp.MustCompile(`://[^/@\s]*@`).ReplaceAllString(strings.TrimSpace(s), "://[redacted]@")
}
