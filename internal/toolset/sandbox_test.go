package toolset_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// reader declares a tool that shows the file it is given; what it may open is the sandbox's to say.
const reader = `{"toolset":"mine","tools":[{"name":"read","description":"d","input":{"type":"object","properties":{"p":{"type":"string"}},
	"required":["p"],"additionalProperties":false},"args":[{"from":"p","as":"abspath"}],"output":"text"}]}`

// bwrap is a command prefix that shows a command the system's programs and one folder, read-only.
func bwrap(t *testing.T, folder string) []string {
	t.Helper()
	program, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is not installed (Debian's package bubblewrap), so no sandbox can be tried")
	}
	args := []string{program, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"}
	for _, folder := range []string{"/bin", "/lib", "/lib64"} {
		if _, err := os.Stat(folder); err == nil {
			args = append(args, "--ro-bind", folder, folder)
		}
	}
	args = append(args, "--ro-bind", folder, folder)
	if out, err := exec.Command(args[0], append(args[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("bubblewrap does not work here: %v: %s", err, out)
	}
	return args
}

func TestASandboxAsPrefixClosesTheGapBetweenCheckAndUse(t *testing.T) {
	b := newBed(t)
	secret := filepath.Join(b.outside(), "secret")
	inside := filepath.Join(b.dir, "a.txt")
	for path, text := range map[string]string{secret: "the secret", inside: "plain text"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// This command looks past its argument, as one would whose file became a link after the check.
	hostile := []string{"/bin/sh", "-c", `cat "$1" ` + secret + `; touch ` + b.dir + `/written; exit 0`, "sh"}
	read := func(command []string) string {
		t.Helper()
		b.load(toolset.Host{}, atlas.Toolset{Use: declare(t, reader), Command: command})
		return strings.Join(b.call("read", `{"p":"`+inside+`"}`).Text, "")
	}
	prefix := bwrap(t, b.dir)
	if got := read(append(prefix, hostile...)); got != "plain text" {
		t.Errorf("in the sandbox the command read %q, want its argument alone", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "written")); err == nil {
		t.Error("in the sandbox the command wrote into the workspace")
	}
	if got := read(hostile); got != "plain textthe secret" {
		t.Errorf("without the sandbox the command read %q: it proves nothing about the sandbox", got)
	}
}

func TestGivingUpACallEndsASandboxToo(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(b.dir, "child.pid")
	nap := fmt.Sprintf("31.%06d", os.Getpid()) // so that no other test's sleep is looked for
	script := `sleep ` + nap + ` & echo started > ` + file + `; wait`
	prefix := bwrap(t, b.dir)
	for i, part := range prefix {
		if part == b.dir && prefix[i-1] == "--ro-bind" {
			prefix[i-1] = "--bind"
		}
	}
	b.load(toolset.Host{}, atlas.Toolset{Use: plain(t, ""), Command: append(prefix, "/bin/sh", "-c", script)})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan toolset.Result, 1)
	go func() { results <- b.set.Call(ctx, b.place(), "text", nil) }()
	until(t, "the script runs in the sandbox", func() bool { return exists(file) && running(nap) })
	cancel()
	failed(t, <-results, "given up")
	until(t, "what the sandbox ran is dead", func() bool { return !running(nap) })
}

// running says whether some process of this machine has argument as one of its arguments.
func running(argument string) bool {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		raw, _ := os.ReadFile(path)
		for part := range strings.SplitSeq(string(raw), "\x00") {
			if part == argument {
				return true
			}
		}
	}
	return false
}
