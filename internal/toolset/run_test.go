package toolset_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"fleet/internal/atlas"
	"fleet/internal/toolset"
)

func TestNoShellReadsWhatAnAgentSends(t *testing.T) {
	b := serve(t, "builtin:fairlead")
	const query = "$(touch pwned) `touch pwned`; touch pwned | cat > pwned & 'x' \"y\" * \n z"
	b.call("find", `{"query":"$(touch pwned) `+"`touch pwned`"+`; touch pwned | cat > pwned & 'x' \"y\" * \n z"}`)
	if got := b.started(); got == nil || got.Args[len(got.Args)-1] != query {
		t.Errorf("the command was started as %+v, want %q as its last argument", got, query)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "pwned")); err == nil {
		t.Error("a shell ran the query")
	}
}

func TestACommandSeesOnlyVariablesThatTheFileNames(t *testing.T) {
	env := map[string]string{
		"HOME": "/home/me", "LANG": "de_DE.UTF-8", "WANTED": "yes", "UNWANTED": "no", "FLEET_AGENT_MCP_TOKEN": "secret", "GITHUB_TOKEN": "secret",
		"CLAUDE_CODE_SESSION_ID": "secret", "LD_PRELOAD": "/x.so",
	}
	b := newBed(t)
	// What follows the working directory or lies among agents' files must not say what node is.
	env["PATH"] = ".:bin::/usr/bin:" + b.dir + ":/bin"
	host := toolset.Host{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	b.load(host, atlas.Toolset{Use: plain(t, `"pass_env":["WANTED","ABSENT"],"env":{"FIXED":"1"},`), Command: command(t, "tell", b.told)})
	b.call("text", `{}`)
	want := []string{"FIXED=1", "HOME=/home/me", "LANG=de_DE.UTF-8", "PATH=/usr/bin:/bin", "WANTED=yes"}
	if got := b.started(); got == nil || !slices.Equal(got.Env, want) {
		t.Errorf("the command's environment = %+v, want %q", got, want)
	}
}

func TestACommandRunsInTheWorkspaceWithoutInput(t *testing.T) {
	b := serve(t, plain(t, ""))
	b.call("text", `{}`)
	if got := b.started(); got == nil || got.Dir != b.dir || got.Input != "" {
		t.Errorf("the command was started as %+v, want it in %s without input", got, b.dir)
	}
}

func TestADeadlineKillsDescendantsToo(t *testing.T) {
	t.Parallel() // it waits
	file := filepath.Join(t.TempDir(), "child.pid")
	b := newBed(t)
	// A shell, since it is up well before the deadline on a busy machine too.
	b.load(toolset.Host{}, atlas.Toolset{Use: plain(t, `"timeout_seconds":1,`), Command: []string{"/bin/sh", "-c", "sleep 30 & printf %s $! > " + file + "; wait"}})
	failed(t, b.call("text", `{}`), "killed after 1 seconds")
	until(t, "the grandchild is dead", func() bool { return gone(pid(t, file)) })
}

func TestWhatACommandLeavesBehindDiesWithItAndHoldsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "child.pid")
	b := serve(t, plain(t, ""), "leave", file)
	if got := b.call("text", `{}`); got.IsError || got.Text[0] != "left it" {
		t.Errorf("result = %+v, want what the command said before it ended", got)
	}
	until(t, "the grandchild is dead", func() bool { return gone(pid(t, file)) })
}

func TestADescendantThatLeftTheGroupCannotHoldTheCall(t *testing.T) {
	t.Parallel() // it waits
	file := filepath.Join(t.TempDir(), "child.pid")
	b := serve(t, plain(t, ""), "escape", file)
	got := b.call("text", `{}`)
	defer func() { _ = syscall.Kill(pid(t, file), syscall.SIGKILL) }()
	if got.IsError || got.Text[0] != "left it" {
		t.Errorf("result = %+v, want what the command said before it ended", got)
	}
	if gone(pid(t, file)) {
		t.Error("the call lasted until the descendant that holds the pipes had ended")
	}
}

func TestGivingUpACallKillsItsCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.pid")
	b := serve(t, plain(t, ""), "sleep", file)
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan toolset.Result, 1)
	go func() { results <- b.set.Call(ctx, b.place(), "text", nil) }()
	until(t, "the command runs", func() bool { return exists(file) })
	cancel()
	failed(t, <-results, "given up")
	until(t, "the command is dead", func() bool { return gone(pid(t, file)) })
}

func TestAFloodIsCutOnARuneAndMarked(t *testing.T) {
	for name, text := range map[string]string{"ascii": "0123456789", "wide": "aé€😀", "json": `{"a":1}`} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, plain(t, ""), "flood", text, "400000")
			for _, tool := range []string{"text", "json"} {
				got := b.call(tool, `{}`)
				if got.IsError || got.Structured != nil || !strings.HasSuffix(got.Text[0], "[truncated]") {
					t.Errorf("%s: a flood gives isError %v, structured %q and ends %q", tool, got.IsError, got.Structured, got.Text[0][len(got.Text[0])-20:])
				}
				if n := len(got.Text[0]); n > 256<<10 || n < 256<<10-16 {
					t.Errorf("%s: a flood gives %d bytes, want nearly 262144", tool, n)
				}
				if !utf8.ValidString(got.Text[0]) || strings.ContainsRune(got.Text[0], utf8.RuneError) {
					t.Errorf("%s: the cut went through a character", tool)
				}
			}
		})
	}
}

func TestTextThatIsNotUTF8IsMadeSo(t *testing.T) {
	b := serve(t, plain(t, ""), "say", "0", "{\"a\":\"\xff\"}", "")
	if got := b.call("text", `{}`); got.IsError || got.Text[0] != "{\"a\":\"\uFFFD\"}" {
		t.Errorf("text = %q", got.Text)
	}
	failed(t, b.call("json", `{}`), "not UTF-8")
}

func TestAFailedCommandIsAResultWithWhatItSaid(t *testing.T) {
	use := plain(t, "")
	for name, c := range map[string]struct {
		mode []string
		want string
	}{
		"standard error":            {[]string{"say", "2", "out", "  the reason\n"}, "the reason"},
		"standard output":           {[]string{"say", "1", " only here \n", ""}, "only here"},
		"nothing":                   {[]string{"say", "3", "", ""}, "mine adapter error: the command ended with exit code 3"},
		"a signal":                  {[]string{"die"}, "mine adapter error: the command was ended by a signal: killed"},
		"a flood on standard error": {[]string{"say", "2", "", strings.Repeat("x", 100_000)}, strings.Repeat("x", 8<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, use, c.mode...)
			for _, tool := range []string{"text", "json"} {
				got := b.call(tool, `{}`)
				failed(t, got, c.want)
				if got.Text[0] != c.want {
					t.Errorf("%s: text = %q, want %q", tool, got.Text, c.want)
				}
			}
		})
	}
}

func TestACommandThatIsGoneIsAResultAndItsPathForTheLogAlone(t *testing.T) {
	b := newBed(t)
	program := filepath.Join(b.outside(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.load(toolset.Host{}, atlas.Toolset{Use: plain(t, ""), Command: []string{program}})
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	got := b.call("text", `{}`)
	failed(t, got, "could not be started")
	if got.Err == nil || strings.Contains(got.Text[0], program) {
		t.Errorf("text %q, cause %v: want the path in the cause alone", got.Text, got.Err)
	}
}

func TestJSONIsOneValueAndStructuredWhereItIsAnObject(t *testing.T) {
	b := speaker(t, plain(t, ""))
	for text, structured := range map[string]bool{
		`{"a":1}`: true, "{\"a\":1}\n": true, `[1]`: false, `"x"`: false, `null`: false,
	} {
		b.say(0, text)
		if got := b.call("json", `{}`); got.IsError || got.Text[0] != text || (got.Structured != nil) != structured {
			t.Errorf("%q gives %+v, want the same text and structured %v", text, got, structured)
		}
	}
	for _, text := range []string{`{"a":`, `{"a":1}{"b":2}`, ``, `done`, `{"a":1} x`, `{"a":1e999}`} {
		b.say(0, text)
		failed(t, b.call("json", `{}`), "JSON")
	}
	b.say(0, `{"a":1}`)
	if got := b.call("text", `{}`); got.Structured != nil {
		t.Errorf("a text tool gives structuredContent %s", got.Structured)
	}
	b.say(0, "1\n\n{\"a\":2}\n")
	if got := b.call("lines", `{}`); got.IsError || got.Structured != nil || got.Text[0] != "1\n\n{\"a\":2}\n" {
		t.Errorf("a tool of lines gives %+v, want them as they are", got)
	}
	b.say(0, "1 2\n")
	failed(t, b.call("lines", `{}`), "line 1")
}
