package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

// TestMain lets the test binary be the command that a toolset runs: its environment is clean, so
// only its arguments can tell it so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stand-in" {
		// os.Exit has the race detector wait a second for others' reports, in each of these processes.
		syscall.Exit(standIn(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// seen is what the stand-in tells of how it was started.
type seen struct {
	Args  []string
	Env   []string
	Dir   string
	Input string
}

func standIn(mode string, args []string) int {
	switch mode {
	case "tell": // tell FILE ARGS…: says how it was started, to standard output and in FILE
		dir, _ := os.Getwd()
		input, _ := io.ReadAll(os.Stdin)
		raw, _ := json.Marshal(seen{args[1:], os.Environ(), dir, string(input)})
		_ = os.WriteFile(args[0], raw, 0o600)
		fmt.Printf("%s", raw)
	case "flood": // flood TEXT BYTES
		n, _ := strconv.Atoi(args[1])
		for written := 0; written < n; written += len(args[0]) {
			fmt.Print(args[0])
		}
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		sleep()
	case "sleep": // sleep FILE: writes its id and holds what it inherited
		_ = os.WriteFile(args[0], []byte(strconv.Itoa(os.Getpid())), 0o600)
		sleep()
	case "leave", "escape": // leaves a descendant that holds the pipes
		child := exec.Command(os.Args[0], "stand-in", "sleep", args[0])
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: mode == "escape"}
		_ = child.Start()
		for !exists(args[0]) {
			time.Sleep(time.Millisecond)
		}
		fmt.Print("left it")
	case "gate": // gate DIR: signs in and waits for DIR/open
		_ = os.WriteFile(filepath.Join(args[0], "in-"+strconv.Itoa(os.Getpid())), nil, 0o600)
		for range 30_000 {
			if exists(filepath.Join(args[0], "open")) {
				return 0
			}
			time.Sleep(time.Millisecond)
		}
	}
	return 0
}

// sleep ends by itself, should a test that must end it be broken.
func sleep() { time.Sleep(30 * time.Second) }

func exists(path string) bool {
	st, err := os.Stat(path)
	return err == nil && (st.Size() > 0 || !strings.HasSuffix(path, ".pid"))
}

// bed is a workspace in an atlas and a toolset that serves it.
type bed struct {
	t     *testing.T
	atlas string
	dir   string // the workspace
	told  string // the file in which the stand-in tells how it was started
	set   *toolset.Toolset
}

func newBed(t *testing.T) *bed {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, atlas: filepath.Join(root, "atlas"), told: filepath.Join(root, "told")}
	b.dir = filepath.Join(b.atlas, "widgets", "main")
	for _, dir := range []string{b.dir, filepath.Join(b.atlas, "widgets", "other"), filepath.Join(root, "outside")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bed) outside() string { return filepath.Join(filepath.Dir(b.atlas), "outside") }

// command is the stand-in in one of its modes. What only says something, as in say EXIT STDOUT
// STDERR, is left to a shell, which starts sooner.
func command(t *testing.T, mode ...string) []string {
	t.Helper()
	if mode[0] == "say" {
		return append([]string{"/bin/sh", "-c", `printf %s "$2"; printf %s "$3" >&2; exit "$1"`, "sh"}, mode[1:]...)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, "stand-in"}, mode...)
}

// serve loads use with the stand-in as its command. Without a mode it tells how it was started.
func serve(t *testing.T, use string, mode ...string) *bed {
	t.Helper()
	b := newBed(t)
	if len(mode) == 0 {
		mode = []string{"tell", b.told}
	}
	return b.load(toolset.Host{}, atlas.Toolset{Use: use, Command: command(t, mode...)})
}

func (b *bed) load(host toolset.Host, ref atlas.Toolset) *bed {
	b.t.Helper()
	host.Atlas = b.atlas
	var err error
	if b.set, err = toolset.Load(host, ref); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// declare writes a declaration as an operator would.
func declare(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plain declares a toolset of three tools without inputs, one for each kind of output.
func plain(t *testing.T, more string) string {
	t.Helper()
	one := `{"name":"%s","description":"d","input":{"type":"object","additionalProperties":false},"args":[],"output":"%s"}`
	return declare(t, `{"toolset":"mine",`+more+`"tools":[`+fmt.Sprintf(one, "text", "text")+`,`+fmt.Sprintf(one, "json", "json")+`,`+fmt.Sprintf(one, "lines", "lines")+`]}`)
}

// say has the command of a bed that speaks print text and end with exit from now on.
func (b *bed) say(exit int, text string) {
	b.t.Helper()
	script := filepath.Join(filepath.Dir(b.told), "script")
	for path, content := range map[string]string{script: "cat " + script + ".out; exit " + strconv.Itoa(exit), script + ".out": text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// speaker serves use with a command that does what say last told.
func speaker(t *testing.T, use string) *bed {
	t.Helper()
	b := newBed(t)
	b.say(0, "")
	return b.load(toolset.Host{}, atlas.Toolset{Use: use, Command: []string{"/bin/sh", filepath.Join(filepath.Dir(b.told), "script")}})
}

func (b *bed) place() toolset.Place { return toolset.Place{Dir: b.dir} }

func (b *bed) call(name, args string) toolset.Result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	return b.set.Call(ctx, b.place(), name, json.RawMessage(strings.ReplaceAll(args, "$DIR", b.dir)))
}

// started says how the stand-in was started last; nil if it was not.
func (b *bed) started() *seen {
	b.t.Helper()
	raw, err := os.ReadFile(b.told)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	var s seen
	if err := json.Unmarshal(raw, &s); err != nil {
		b.t.Fatal(err)
	}
	return &s
}

// refused holds a result to a refusal that started nothing and names want.
func (b *bed) refused(result toolset.Result, want string) {
	b.t.Helper()
	if !result.IsError || !result.Refused || result.Outcome() != "refused" || !strings.Contains(result.Text[0], want) {
		b.t.Errorf("result = %+v, want a refusal that says %q", result, want)
	}
	if s := b.started(); s != nil {
		b.t.Errorf("a process was started with %q", s.Args)
	}
}

// failed holds a result to an error that says want, without structuredContent.
func failed(t *testing.T, result toolset.Result, want string) {
	t.Helper()
	if !result.IsError || result.Refused || result.Outcome() != "error" || result.Structured != nil || !strings.Contains(strings.Join(result.Text, "\n"), want) {
		t.Errorf("result = %+v, want an error that says %q", result, want)
	}
}

// until polls for what another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 5_000 {
		if done() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("waited in vain until %s", what)
}

// pid reads the id that a stand-in wrote.
func pid(t *testing.T, path string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gone says that a process is no more, or a zombie that nobody has waited for.
func gone(id int) bool {
	if syscall.Kill(id, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	return err == nil && slices.Contains(strings.Fields(string(stat)), "Z")
}
