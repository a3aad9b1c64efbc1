//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleet/internal/e2e/model"
	"fleet/internal/e2e/shipyard"
)

const (
	saidInComment = "I looked at the bolts: one is missing."
	saidInReview  = "Please add the eighth bolt."
)

// bridged is one way to have a bridge: what it takes to start the ship, and where its files are.
type bridged struct {
	token string
	start func(s *story, t *testing.T)
}

// story is Claude Code at work on a repository of a forge, through a bridge.
type story struct {
	f      *fleet
	g      *forge
	mark   string // stands in the workspace's name, the prompt and the forge's texts: the control of each search
	holder string // the one file that is to hold the token; "": none
	state  string // where the bridge keeps database and audit
	own    *ownBridge
	h      *harness
}

// TestClaudeWorksOnARepositoryThroughTheBridge is the main job with a bridge: the agent reads,
// comments, reviews and gets its failed logs, and the forge's token is nowhere but where it was put.
func TestClaudeWorksOnARepositoryThroughTheBridge(t *testing.T) {
	for name, how := range map[string]bridged{
		"embedded, with a token in the environment": {personalToken(), (*story).embeddedByEnvironment},
		"embedded, with ship credential add":        {installationToken(), (*story).embeddedByFile},
		"a process of its own, run by another user": {installationToken(), (*story).apart},
	} {
		t.Run(name, func(t *testing.T) {
			mark := letters(20)
			s := &story{f: newFleet(t), mark: mark}
			s.g = newForge(t, s.f, how.token, mark)
			how.start(s, t)
			s.work(t)
		})
	}
}

func (s *story) embeddedByEnvironment(t *testing.T) {
	s.f.serve(t, "GITHUB_TOKEN="+s.g.token)
	s.state = filepath.Join(s.f.atlas, ".ship")
}

func (s *story) embeddedByFile(t *testing.T) {
	config := mkdir(t, s.f.dir, "config")
	s.f.env = append(s.f.env, "XDG_CONFIG_HOME="+config)
	add := exec.Command(shipyard.Built("ship"), "credential", "add", s.g.host)
	add.Env, add.Stdin = s.f.env, strings.NewReader(s.g.token+"\n")
	output(t, add)
	s.holder = filepath.Join(config, "fleet", "credentials", s.g.host)
	s.f.serve(t)
	s.state = filepath.Join(s.f.atlas, ".ship")
}

func (s *story) apart(t *testing.T) {
	s.own = startBridge(t, s.f, s.g)
	s.holder, s.state = s.own.secret, filepath.Join(s.own.dir, "state")
	var granted struct {
		Credential string `json:"credential"`
	}
	out := output(t, s.own.command("grant", "laptop", "--repo", "widgets", "--verbs", "read,comment,review", "--json"))
	if err := json.Unmarshal(out, &granted); err != nil || granted.Credential == "" {
		t.Fatalf("ship bridge grant printed %s: %v", out, err)
	}
	credential := filepath.Join(s.f.dir, "ship-credential")
	writeFile(t, credential, 0o600, granted.Credential+"\n")
	s.f.serve(t, "FLEET_BRIDGE_URL="+s.own.url(), "FLEET_BRIDGE_CREDENTIAL_FILE="+credential)
	if _, err := os.Stat(filepath.Join(s.f.atlas, ".ship", "bridge.db")); !os.IsNotExist(err) {
		t.Errorf("the ship has a bridge's database beside the bridge: %v", err)
	}
}

// work lets the agent do everything, and searches for the token while it does and afterwards.
func (s *story) work(t *testing.T) {
	t.Helper()
	workspace := "widgets/fix-" + s.mark
	s.f.ship(t, "create", workspace, "--branch", "fix")
	s.h = claudeCalling(t, s.f, workspace, s.calls(), key, "--", shipyard.Built("agent-mcp"))
	s.h.command = append(s.h.command, "--append-system-prompt", "You are "+s.mark+".")
	control := secrets{"the mark": []byte(s.mark)}
	watch := watchProcesses(map[string]secrets{"token": secretsOf(s.g.token), "mark": control})
	t.Cleanup(func() { watch.stop() })
	s.h.start(t, s.f)
	s.h.wait(t, s.f)
	seen := watch.stop()
	s.checkAnswers(t)
	s.checkForge(t)
	s.checkProcesses(t, seen)
	s.checkFiles(t, control)
	s.checkWords(t)
	s.g.signedAlone(t)
	if got := s.h.model.Outside(); len(got) > 0 {
		t.Errorf("the harness asked for other hosts: %q", got)
	}
}

func (s *story) calls() []model.Call {
	n := s.g.pull.Number()
	return []model.Call{
		begins("claude-code"),
		{Tool: "repo_info"},
		{Tool: "repo_issue_list", Arguments: `{"state":"all"}`},
		{Tool: "repo_pr_view", Arguments: fmt.Sprintf(`{"number":%d}`, n)},
		{Tool: "repo_pr_comment", Arguments: fmt.Sprintf(`{"number":%d,"body":%q}`, n, saidInComment)},
		{Tool: "repo_pr_review", Arguments: fmt.Sprintf(`{"number":%d,"event":"REQUEST_CHANGES","body":%q}`, n, saidInReview)},
		{Tool: "repo_checks"},
		{Tool: "repo_failed_logs"},
	}
}

// checkAnswers holds what the model was answered to what the forge has.
func (s *story) checkAnswers(t *testing.T) {
	t.Helper()
	head := s.g.pull.Head()
	wanted := map[string][]string{
		"agent_init":       {`"state": "idle"`},
		"repo_info":        {`"full_name": "acme/widgets"`, `"forge": "github"`},
		"repo_issue_list":  {"the bolts are loose, says " + s.mark, `"author"`},
		"repo_pr_view":     {"Tighten the bolts", head, s.mark},
		"repo_pr_comment":  {"#issuecomment-"},
		"repo_pr_review":   {"CHANGES_REQUESTED", head},
		"repo_checks":      {`"branch": "fix"`, head, `"overall": "fail"`, "test (ubuntu)", "lint"},
		"repo_failed_logs": {`"branch": "fix"`, failure, "test (ubuntu)", `"step": "go test"`},
	}
	results := s.h.model.Results()
	if len(results) != len(wanted) {
		t.Fatalf("%d results came back, want %d: %+v", len(results), len(wanted), results)
	}
	for _, r := range results {
		for _, text := range wanted[r.Tool] {
			if r.IsError || !strings.Contains(r.Text, text) {
				t.Errorf("%s: is an error: %t; %q is to be in\n%s", r.Tool, r.IsError, text, r.Text)
			}
		}
		if n := secretsOf(s.g.token).in([]byte(r.Text)); n != "" {
			t.Errorf("%s answered with %s", r.Tool, n)
		}
	}
}

func (s *story) checkForge(t *testing.T) {
	t.Helper()
	if got := s.g.pull.Issue().Texts(); !slices.Equal(got, []string{saidInComment}) {
		t.Errorf("the pull request's comments are %q, want the one that was written", got)
	}
	want := "CHANGES_REQUESTED by " + identity + " at " + s.g.pull.Head()[:7] + ": " + saidInReview
	if got := s.g.pull.Reviews(); !slices.Equal(got, []string{want}) {
		t.Errorf("the pull request's reviews are %q, want %q", got, want)
	}
}

func (s *story) checkProcesses(t *testing.T, seen map[string]map[string]string) {
	t.Helper()
	for path, command := range seen["token"] {
		t.Errorf("%s holds the token; it is %s", path, command)
	}
	marks, arguments := "", false
	for path, command := range seen["mark"] {
		marks += command + "\n"
		arguments = arguments || filepath.Base(path) == "cmdline"
	}
	for _, program := range []string{"/claude ", "/agent-mcp"} {
		if !strings.Contains(marks, program) || !arguments {
			t.Errorf("the mark was seen in the processes of\n%sand in arguments: %t; want %s among them: this search sees too little", marks, arguments, program)
		}
	}
	socket := filepath.Join(s.f.sockets(t), "tmux.sock")
	env := s.f.command(t, "sh", "-c", `tmux -S "$0" show-environment -g; for s in $(tmux -S "$0" list-sessions -F "#{session_name}"); do tmux -S "$0" show-environment -t "=$s:"; done`, socket)
	if n := secretsOf(s.g.token).in(env); n != "" || !strings.Contains(string(env), s.mark) {
		t.Errorf("tmux's environments hold %s; the mark is in them: %t", n, strings.Contains(string(env), s.mark))
	}
}

// checkFiles searches everything that the test has made: atlas, workspace, harness's home,
// bridge's directory, operator's home and configuration.
func (s *story) checkFiles(t *testing.T, control secrets) {
	t.Helper()
	found := secretsOf(s.g.token).files(t, s.f.dir)
	if s.holder != "" && found[s.holder] == "" {
		t.Errorf("the token was not found in %s, where it is: this search sees nothing", s.holder)
	}
	delete(found, s.holder)
	for path, name := range found {
		t.Errorf("%s holds %s", path, name)
	}
	writeFile(t, filepath.Join(s.f.atlas, s.h.workspace, "mark.txt"), 0o600, s.mark)
	marks := control.files(t, s.f.dir)
	ship := filepath.Join(s.f.atlas, ".ship")
	for _, path := range []string{
		filepath.Join(ship, "events.jsonl"), filepath.Join(ship, "calls.jsonl"),
		filepath.Join(s.state, "bridge.db"), filepath.Join(s.state, "audit.jsonl"),
		filepath.Join(s.f.atlas, s.h.workspace, "mark.txt"),
	} {
		if marks[path] == "" {
			t.Errorf("the mark was not found in %s: this search sees too little", path)
		}
		delete(marks, path)
	}
	for path := range marks {
		if strings.HasPrefix(path, s.h.home) {
			return
		}
	}
	t.Errorf("the mark was not found in the harness's home, but in %q: this search sees too little", marks)
}

// checkWords searches what the daemons said, and has the audit verified.
func (s *story) checkWords(t *testing.T) {
	t.Helper()
	said := map[string]string{"ship": s.f.daemon.Said()}
	audit := exec.Command(shipyard.Built("ship"), "--atlas", s.f.atlas, "bridge", "audit", "verify")
	audit.Env = s.f.env
	if s.own != nil {
		said["bridge"] = s.own.daemon.Said()
		audit = s.own.command("audit", "verify")
	}
	said["ship bridge audit verify"] = string(output(t, audit))
	for who, words := range said {
		if n := secretsOf(s.g.token).in([]byte(words)); n != "" || words == "" {
			t.Errorf("%s said %s, in %d bytes", who, n, len(words))
		}
	}
}
