package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/process"
	"fleet/internal/tmux"
)

// hostile are values that quoting, expansion or splitting could change.
func hostile() map[string]string {
	values := map[string]string{
		"empty": "", "blank": " ", "single": "it's", "double": `say "x"`, "backslash": `a\b\\n\`, "dollar": "$HOME ${X} $(id)",
		"format": "#{pid} #[bold] ##[x ## #(touch /tmp/pwned) #H %H %%", "separators": "a ; b;", "semicolon": ";", "braces": "{ a }", "tilde": "~ ~root",
		"newline": "a\nb\n", "newline and blanks": "a\n   b\n\tc\n\n  ", "control": "a\tb\rc\x1b[31md\x07\x7f", "unicode": "é 😀 \u202e \u00a0", "comment": "# x", "dashes": "-e --",
		"long": strings.Repeat("0123456789 '\"$#\n ", 4000),
	}
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ab '\"\\$#{}[]();~%\n\t\r é😀|=-&`!\x01")
	for i := range 40 {
		var s strings.Builder
		for range random.IntN(40) {
			s.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		values[fmt.Sprintf("random %d", i)] = s.String()
	}
	return values
}

func TestValuesAndWordsReachTheProcessByteForByte(t *testing.T) {
	t.Parallel()
	s := start(t)
	n := tmux.NewSession{Name: name, Dir: s.dir}
	out := filepath.Join(s.dir, "out")
	const dump = `{ env -0; printf '=words\0'; printf '%s\0' "$@"; } > "$OUT.x"; mv "$OUT.x" "$OUT"; exec sleep 60`
	n.Env = append(n.Env, tmux.Variable{Name: "OUT", Value: out})
	n.Command = []string{"sh", "-c", dump, "sh"}
	want := map[string]string{}
	for what, v := range hostile() {
		variable := fmt.Sprintf("V%d", len(want))
		want[variable+"="+v] = what
		n.Env = append(n.Env, tmux.Variable{Name: variable, Value: v})
		n.Command = append(n.Command, v)
	}
	s.make(t, n)
	env, words, _ := strings.Cut(read(t, out), "=words\x00")
	for _, kv := range strings.Split(env, "\x00") {
		delete(want, kv)
	}
	for kv, what := range want {
		t.Errorf("%s did not arrive as a variable: %.200q", what, kv)
	}
	if got := strings.Split(strings.TrimSuffix(words, "\x00"), "\x00"); !slices.Equal(got, n.Command[4:]) {
		t.Errorf("the command got the words %.2000q\nwant %.2000q", got, n.Command[4:])
	}
}

func TestWhatCannotArriveUnchangedIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for what, v := range map[string]string{"NUL": "a\x00b", "bad UTF-8": "a\xff"} {
		for where, n := range map[string]tmux.NewSession{
			"a variable": {Env: []tmux.Variable{{Name: "X", Value: v}}}, "a word": {Command: []string{"echo", v}},
			"the directory": {Dir: "/" + v}, "an option": {Options: []tmux.Option{{Name: "@x", Value: v}}},
		} {
			n.Name = name
			if err := s.New(t.Context(), n); !errors.Is(err, tmux.ErrUnfit) || s.running(name) {
				t.Errorf("New with %s in %s: %v, session made: %t; want ErrUnfit and none", what, where, err, s.running(name))
			}
		}
		if err := s.Set(t.Context(), tmux.Change{Session: name, Env: []tmux.Variable{{Name: "X", Value: v}}}); !errors.Is(err, tmux.ErrUnfit) {
			t.Errorf("Set with %s: %v, want ErrUnfit", what, err)
		}
	}
}

func TestADirectoryIsTakenByItsLetters(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i, dir := range []string{
		"plain", "é b", "it's", "#(touch pwned)", "#{pid}", "##", "#[bold]x", "##[a", "###[a", "$HOME", "~", "%H", "a;b", "x ", "[a]*?",
	} {
		dir = filepath.Join(s.dir, "dirs", dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		session := fmt.Sprintf("ws-%d", i)
		s.make(t, tmux.NewSession{Name: session, Dir: dir, Command: []string{"sleep", "60"}})
		eventually(t, "a pane stands in "+dir, func() bool {
			pane, err := s.FirstPane(t.Context(), session)
			return err == nil && pane.Dir == dir
		})
	}
}

// TestNoValueReachesAnArgumentList looks at every process's arguments all the time, and at tmux's, which
// live too short to be sure to be seen, through one in front of it that writes its arguments down.
func TestNoValueReachesAnArgumentList(t *testing.T) {
	if !process.Alone(t) {
		return
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc on this system")
	}
	const secret = "sesame-8471"
	s := open(t)
	calls := filepath.Join(s.dir, "calls")
	fake(t, `printf '%s\n' "$*" >>`+calls)
	s.reopen(t)
	watch := process.WatchArguments(t, regexp.MustCompile(secret))
	if err := s.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
	for i := range 10 {
		n := tmux.NewSession{Name: fmt.Sprintf("ws-%d", i), Env: []tmux.Variable{{Name: "S", Value: secret}}, Options: []tmux.Option{{Name: "@s", Value: secret}}}
		s.make(t, n)
		err := s.Set(t.Context(), tmux.Change{Session: n.Name, Env: []tmux.Variable{{Name: "S", Value: secret + "2"}}, Options: n.Options})
		if err != nil {
			t.Fatalf("Set: %v", err)
		}
	}
	if seen := watch.Stop(); seen[secret] != "" {
		t.Errorf("a value stands in the arguments %q", seen[secret])
	}
	raw, err := os.ReadFile(calls)
	if recorded := string(raw); err != nil || !strings.Contains(recorded, "source-file") || strings.Contains(recorded, secret) {
		t.Errorf("tmux was executed with %q, %v; want source-file, and no value", recorded, err)
	}
}

// TestATmuxInAPaneCannotReachItsServer types tmux commands in each kind of pane that there is.
func TestATmuxInAPaneCannotReachItsServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	private := filepath.Join(s.dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	// The operator's own server, where a tmux without TMUX looks.
	own := filepath.Join(s.dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	s.make(t, tmux.NewSession{Name: "ws-sibling"})
	n := tmux.NewSession{Env: []tmux.Variable{{Name: "TMUX_TMPDIR", Value: private}}}
	s.make(t, n)
	s.byHand(t, "new-window", "-t", "="+name+":")
	s.byHand(t, "split-window", "-t", "="+name+":")
	n.Name = "ws-command"
	n.Command = []string{"sh", "-c", `while read -r l; do eval "$l"; done`}
	s.make(t, n)
	panes, err := s.Panes(t.Context())
	if err != nil || len(panes) != 5 {
		t.Fatalf("Panes = %v, %v; want five", panes, err)
	}
	for _, p := range panes {
		if p.Session == "ws-sibling" {
			continue
		}
		out := filepath.Join(s.dir, fmt.Sprint(p.ID))
		s.byHand(t, "send-keys", "-t", fmt.Sprintf("%%%d", p.ID), "-l",
			`tmux kill-session; tmux kill-server; echo "[$TMUX][$TMUX_PANE]" > `+out+".x; mv "+out+".x "+out)
		s.byHand(t, "send-keys", "-t", fmt.Sprintf("%%%d", p.ID), "Enter")
		if got := read(t, out); got != "[][]\n" {
			t.Errorf("pane %d of %s sees TMUX and TMUX_PANE as %q", p.ID, p.Session, got)
		}
	}
	if after, err := s.Panes(t.Context()); err != nil || len(after) != 5 {
		t.Errorf("after kill-server typed in every pane: Panes = %v, %v; want all five", after, err)
	}
}

func TestWhatACommandLeavesBehindSaysHowItEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	ends := map[string]struct {
		command []string
		status  string
		stays   bool
	}{
		"ws-crash":  {[]string{"sh", "-c", "echo last words; sleep 0.1; exit 3"}, "3", true},
		"ws-killed": {[]string{"sh", "-c", "sleep 0.1; kill -9 $$"}, "9", true},
		"ws-well":   {[]string{"sh", "-c", "exit 0"}, "", false},
	}
	for session, e := range ends {
		s.make(t, tmux.NewSession{Name: session, Command: e.command})
	}
	for session, e := range ends {
		eventually(t, session+" ends", func() bool {
			panes, err := s.Panes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.Session == session })
			if i < 0 {
				return !e.stays
			}
			return e.stays && panes[i].Dead && panes[i].DeadStatus+panes[i].DeadSignal == e.status
		})
	}
	p, _ := s.FirstPane(t.Context(), "ws-crash")
	text, err := s.Capture(t.Context(), p.ID, 100)
	if err != nil || !strings.Contains(text, "last words") {
		t.Errorf("Capture = %q, %v; want the last words of the command", text, err)
	}

	s.make(t, tmux.NewSession{Name: "ws-shell"}) // a shell leaves when told to, whatever its status
	s.byHand(t, "send-keys", "-t", "=ws-shell:", "exit 3", "Enter")
	eventually(t, "the shell's session ends", func() bool { return !s.running("ws-shell") })
}

func TestCaptureGivesTheLastLines(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.make(t, tmux.NewSession{Command: []string{"sh", "-c", "seq 1 200; printf 'é end'; sleep 60"}})
	p, err := s.FirstPane(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command has printed", func() bool {
		text, err := s.Capture(t.Context(), p.ID, 3)
		return err == nil && text == "199\n200\né end\n"
	})
	text, err := s.Capture(t.Context(), p.ID, 1000)
	if err != nil || !strings.HasPrefix(text, "1\n2\n") {
		t.Errorf("Capture of all = %.20q, %v; want it from the first line on", text, err)
	}
}

func TestSessionEnvReadsOneSessionAndStartsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.make(t, tmux.NewSession{Name: "ws-1", Env: []tmux.Variable{{Name: "T", Value: "short"}}})
	s.make(t, tmux.NewSession{Name: "ws-12", Env: []tmux.Variable{{Name: "T", Value: "tok_-x"}, {Name: "U", Value: "http://x/%20|y"}}})
	ctx := t.Context()
	got, err := tmux.SessionEnv(ctx, s.socket, "ws-12", "T", "NONE", "U")
	if err != nil || len(got) != 2 || got["T"] != "tok_-x" || got["U"] != "http://x/%20|y" {
		t.Errorf("SessionEnv = %v, %v", got, err)
	}
	for _, absent := range []string{"ws-", "ws-123", "ws"} {
		if got, err := tmux.SessionEnv(ctx, s.socket, absent, "T"); !tmux.Is(err, tmux.NoSession) {
			t.Errorf("SessionEnv of %s = %v, %v; want NoSession", absent, got, err)
		}
	}
	if got, err := tmux.SessionEnv(ctx, filepath.Join(s.dir, "none"), "ws-1", "T"); !tmux.Is(err, tmux.NoSocket) {
		t.Errorf("SessionEnv on no socket = %v, %v; want NoSocket", got, err)
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "none")); err == nil {
		t.Error("SessionEnv started a server")
	}
	late, cancel := context.WithDeadline(ctx, time.Now())
	defer cancel()
	if _, err := tmux.SessionEnv(late, s.socket, "ws-1", "T"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("SessionEnv after its deadline: %v", err)
	}
}

func TestSetWritesToEverySessionThatIsThere(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.make(t, tmux.NewSession{Name: "ws-1"})
	s.make(t, tmux.NewSession{Name: "ws-2"})
	record := `{"description":"quotes \" and ~ {x} | \u0027"}`
	var changes []tmux.Change
	for _, session := range []string{"ws-1", "ws-gone", "ws-2"} {
		changes = append(changes, tmux.Change{
			Session: session, Env: []tmux.Variable{{Name: "T", Value: "t-" + session}}, Options: []tmux.Option{{Name: "@r", Value: record}},
		})
	}
	if err := s.Set(t.Context(), changes...); !tmux.Is(err, tmux.NoSession) {
		t.Errorf("Set with a session that is gone: %v, want NoSession", err)
	}
	got, err := s.Sessions(t.Context(), "T", "NONE", "@r")
	want := []tmux.Session{{"ws-1", []string{"t-ws-1", "", record}}, {"ws-2", []string{"t-ws-2", "", record}}}
	if err != nil || !slices.EqualFunc(got, want, func(a, b tmux.Session) bool { return a.Name == b.Name && slices.Equal(a.Values, b.Values) }) {
		t.Errorf("Sessions = %q, %v\nwant %q", got, err, want)
	}
	if err := s.Set(t.Context(), tmux.Change{Session: "ws-1", Options: []tmux.Option{{Name: "@r"}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Sessions(t.Context(), "@r"); err != nil || got[0].Values[0] != "" {
		t.Errorf("an option set to nothing reads %q, %v", got, err)
	}
}

func TestAttachShowsTheSessionFromInsideAnotherTmux(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.make(t, tmux.NewSession{})
	path, argv, env, err := tmux.AttachCommand(s.socket, name, []string{"PATH=/bin", "TMUX=/x,1,0", "TMUX_PANE=%1", "GITHUB_TOKEN=secret", "TERM=screen"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(env, " "); got != "PATH=/bin TERM=screen LANG=C.UTF-8" {
		t.Errorf("AttachCommand's environment is %q", got)
	}
	// A pane is a terminal.
	s.make(t, tmux.NewSession{Name: "ws-terminal", Command: append([]string{path}, argv[1:]...)})
	eventually(t, "a client is attached", func() bool {
		out, err := s.try("list-clients", "-t", "="+name)
		return err == nil && out != ""
	})
}
