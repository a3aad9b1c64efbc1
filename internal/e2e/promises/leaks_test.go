package promises_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fleet/internal/atlas"
	"fleet/internal/e2e/shipyard"
)

// operatorsSecrets is what stands in the environment of an operator who starts a ship. Each test
// has values of its own, so that tests side by side do not see each other's.
func operatorsSecrets(mark string) []string {
	var env []string
	for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "FLEET_X", "FLEET_AGENT_MCP_TOKEN", "AWS_SECRET_ACCESS_KEY"} {
		env = append(env, name+"="+mark+name)
	}
	return append(env, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID="+mark+"session", "TMUX_PANE=%99")
}

// starters are the two ways to start a ship.
func starters() map[string]func(*testing.T, *fleet) {
	return map[string]func(*testing.T, *fleet){
		"ship serve": func(t *testing.T, f *fleet) { f.serve(t) },
		"ship up":    func(t *testing.T, f *fleet) { f.must(t, "up") },
	}
}

func TestNothingOfTheShipsEnvironmentReachesAPane(t *testing.T) {
	for name, start := range starters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := "leak-pane-" + strings.Fields(name)[1] + "-"
			f := newFleet(t, operatorsSecrets(mark)...)
			start(t, f)
			f.must(t, "create", "r/shell")
			f.must(t, "activate", "r/shell")
			f.must(t, "create", "r/cmd")
			f.must(t, "activate", "r/cmd", "--", "sh", "-c", "env >env.new; mv env.new env.txt; exec sleep 1000")
			f.tmux(t, "send-keys", "-t", session(t, "shell")+":", "env >env.new; mv env.new env.txt", "Enter")
			// A window that the operator opens later, from his own environment.
			f.tmux(t, "new-window", "-c", f.path("cmd"), "-t", session(t, "cmd")+":", "env >env2.new; mv env2.new env2.txt; exec sleep 1000")
			files := []string{filepath.Join(f.path("shell"), "env.txt"), filepath.Join(f.path("cmd"), "env.txt"), filepath.Join(f.path("cmd"), "env2.txt")}
			for _, file := range files {
				checkPaneEnv(t, file, mark)
			}
			for _, ws := range []string{"shell", "cmd"} {
				checkEnviron(t, f.pane(t, ws), mark)
			}
		})
	}
}

func checkPaneEnv(t *testing.T, file, mark string) {
	t.Helper()
	var env string
	found := shipyard.Poll(func() bool { raw, err := os.ReadFile(file); env = string(raw); return err == nil })
	if !found || !strings.Contains(env, "FLEET_AGENT_MCP_TOKEN=fleet_") || !strings.Contains(env, "HOME=") {
		t.Fatalf("env in the pane, %s, is %q, want the workspace's token and HOME in it", file, env)
	}
	if strings.Contains(env, mark) || strings.Contains(env, "CLAUDECODE") || strings.Contains(env, "TMUX_PANE=%99") {
		t.Errorf("the pane's environment, %s, holds what the ship was started with:\n%s", file, env)
	}
}

func checkEnviron(t *testing.T, pid int, mark string) {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if os.IsNotExist(err) && !isLinux() {
		return
	}
	if err != nil || !strings.Contains(string(raw), "FLEET_AGENT_MCP_URL=") {
		t.Fatalf("/proc/%d/environ = %q, %v, want a pane's environment", pid, raw, err)
	}
	if strings.Contains(string(raw), mark) || strings.Contains(string(raw), "CLAUDECODE") {
		t.Errorf("/proc/%d/environ of the pane holds what the ship was started with: %q", pid, raw)
	}
}

func TestNoProcessOfOursKeepsAForgesToken(t *testing.T) {
	needsProc(t)
	for name, start := range starters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := fmt.Sprintf("leak-proc-%d-%s-", os.Getpid(), strings.Fields(name)[1]) // this run's alone: it looks at the whole machine
			f := newFleet(t, operatorsSecrets(mark)...)
			start(t, f)
			f.activate(t, "one")
			f.harness(t, "one")
			for _, forge := range []string{"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"} {
				if found := holders("environ", mark+forge); len(found) > 0 {
					t.Errorf("%s is in the environment of %q", forge, found)
				}
			}
			if found := holders("environ", f.token(t, "one")); len(found) < 2 {
				t.Errorf("the workspace's token is in the environment of %q, want the pane and the adapter: this test sees nothing", found)
			}
		})
	}
}

// awkward are values that a shell, tmux or JSON could change on their way.
func awkward(mark string) map[string]string {
	return map[string]string{
		"PROMISE_SPACES": mark + "  two  spaces ", "PROMISE_QUOTES": mark + `'"'\''"`, "PROMISE_DOLLAR": mark + `$HOME ${HOME} $(id) \$`,
		"PROMISE_SEMICOLON": mark + `; kill-server ;`, "PROMISE_FORMAT": mark + `#{pane_id} #(id) %1 #S ##`, "PROMISE_LETTERS": mark + "é ÿ 漢 👍",
		"PROMISE_LINES": mark + "a\n  b\n\n\tc\n", "PROMISE_BACKSLASH": mark + `\n \\ \`, "PROMISE_EMPTY": "", "PROMISE_BRACES": mark + `{ } ~ * ?`,
	}
}

func TestNamedVariablesReachThePaneByteForByte(t *testing.T) {
	needsProc(t)
	t.Parallel()
	f := serving(t)
	f.must(t, "create", "r/one")
	args := []string{"--atlas", f.root, "activate", "r/one"}
	values := awkward("")
	c := f.command(shipyard.Built("ship"))
	for name, value := range values {
		c.Env = append(c.Env, name+"="+value)
		args = append(args, "--env", name)
	}
	c.Args = append(c.Args, append(args, "--", "sleep", "1000")...)
	if r := f.run(t, c); r.code != 0 {
		t.Fatalf("ship activate --env … = %d: %s", r.code, r.stderr)
	}
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(f.pane(t, "one")) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(raw), "\x00")
	for name, value := range values {
		if !slices.Contains(got, name+"="+value) {
			t.Errorf("the pane's %s is not %q; its environment is %q", name, value, got)
		}
	}
}

// Without a UTF-8 locale programs lose every letter beyond ASCII.
func TestAPaneHasAUTF8LocaleWhereTheOperatorHasNone(t *testing.T) {
	needsProc(t)
	t.Parallel()
	f := newFleet(t)
	f.env = withoutLocale(f.env)
	f.serve(t)
	f.activate(t, "one")
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(f.pane(t, "one")) + "/environ")
	if err != nil || !slices.Contains(strings.Split(string(raw), "\x00"), "LANG=C.UTF-8") {
		t.Errorf("the pane's environment is %q, %v, want LANG=C.UTF-8 in it", raw, err)
	}
}

func TestForgeAndIdentityVariablesCannotBeNamed(t *testing.T) {
	t.Parallel()
	f := serving(t, operatorsSecrets("leak-named-")...)
	f.must(t, "create", "r/one")
	for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "FLEET_X", "FLEET_AGENT_MCP_TOKEN", "CLAUDECODE", "TMUX_PANE"} {
		if r := f.ship(t, "activate", "r/one", "--env", name); r.code == 0 || !strings.Contains(r.stderr, name) || strings.Contains(r.stderr, "leak-named-") {
			t.Errorf("ship activate --env %s = %d, %q, want a refusal that names it and not its value", name, r.code, r.stderr)
		}
	}
}

// TestNoSecretIsWrittenDown reads all that a ship leaves and says over a workspace's whole life,
// refusals and failures included.
func TestNoSecretIsWrittenDown(t *testing.T) {
	for name, start := range starters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := "leak-log-" + strings.Fields(name)[1] + "-"
			f := newFleet(t, append(operatorsSecrets(mark), "PROMISE_SECRET="+mark+"named")...)
			start(t, f)
			secrets := []string{mark}
			f.must(t, "create", "r/one")
			f.must(t, "activate", "r/one", "--env", "PROMISE_SECRET")
			f.must(t, "create", "r/two")
			f.must(t, "activate", "r/two")
			a := f.harness(t, "one")
			secrets = append(secrets, f.token(t, "one"), f.token(t, "two"))
			provoke(t, f, a)
			secrets = append(secrets, f.token(t, "one"))
			said := f.said.String() + a.stderr.String()
			if f.daemon != nil {
				said += f.daemon.Said()
			}
			files := []string{"ship.log", "events.jsonl", "calls.jsonl"}
			for _, file := range files {
				said += f.stateFile(t, file)
			}
			said += f.shell(t, f.root, "cat atlas.json; find .ship -type f -exec cat {} +")
			for _, want := range []string{"workspace.activated", "auth.refused", "token.rotated", "agent_status"} {
				if !strings.Contains(said, want) {
					t.Errorf("nothing that was written says %s: this test sees too little", want)
				}
			}
			for i, secret := range secrets {
				if strings.Contains(said, secret) {
					t.Errorf("secret %d of %d was written down", i+1, len(secrets))
				}
			}
		})
	}
}

// provoke does what a ship may want to complain about, with good tokens in the wrong places.
func provoke(t *testing.T, f *fleet, a *adapter) {
	t.Helper()
	one, two := f.token(t, "one"), f.token(t, "two")
	a.register(t, "at work")
	a.call(t, "agent_status", `{"state":"nonsense","description":""}`)
	body := call("1", "agent_status_get", "{}")
	for _, q := range []ask{
		{path: mcpPath("one"), token: two, body: body},
		{path: mcpPath("one"), token: one + "x", body: body},
		{path: mcpPath("one"), authorization: one, body: body},
		{path: mcpPath("one"), token: one, body: "{"},
		{path: "/workspaces/r/" + one + "/mcp", token: one, body: body},
		{path: "/" + one, token: one, body: body},
	} {
		f.http(t, q)
	}
	f.must(t, "token", "rotate", "r/one")
	a.call(t, "agent_status_get", "{}").ok(t)
	f.ship(t, "call", "r/one", "agent_status", `{"state":1}`)
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}, {"status", "--json"}, {"status", "r/one"}, {"events", "--calls"}, {"events", "--json"}, {"repo", "list", "--json"}, {"version"}} {
		f.must(t, args...)
	}
	f.must(t, "deactivate", "r/two")
	f.ship(t, "activate", "r/one")
	f.ship(t, "remove", "r/one")
	if _, err := os.Stat(atlas.StateDir(f.root)); err != nil {
		t.Fatal(err)
	}
}
