//go:build e2e

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/table"
)

// thirteen are the tools of a workspace without toolsets.
var thirteen = []string{
	"agent_init", "agent_status", "agent_status_get", "repo_checks", "repo_failed_logs",
	"repo_info", "repo_issue_comment", "repo_issue_list", "repo_issue_view", "repo_pr_comment",
	"repo_pr_list", "repo_pr_review", "repo_pr_view",
}

// talk is what talk.mjs tells of the whole talk.
type talk struct {
	Version, Protocol                 string
	Tools                             []string
	Init, Status, Get, Refused, After answer
	Unknown, Aborted                  failure
	Stalled, Released                 bool
	Unforeseen                        []string
}

// answer is a tool's result.
type answer struct {
	Text    string
	IsError bool
	Items   int
}

// failure is what a call was rejected with; Result is there when it was not.
type failure struct {
	Code    any
	Message string
	Result  any
}

// status is the part of an AgentStatus that a client's talk decides.
type status struct {
	Repo, Workspace, Harness, State, Description string
}

func (a answer) status(t *testing.T) status {
	t.Helper()
	var s status
	if err := json.Unmarshal([]byte(a.Text), &s); err != nil || a.IsError || a.Items != 1 {
		t.Errorf("a tool answered %+v, want one text item with a status: %v", a, err)
	}
	return s
}

// sdk is one way of use of one of the SDKs.
type sdk struct {
	client, script, mode string
	protocol             string
	spawns               int // programs that one connection over stdio starts
}

func TestTheTypeScriptSDKsListCallAndAbortInEveryMode(t *testing.T) {
	f := startFleet(t)
	for _, s := range []sdk{
		{table.SDKv1, "sdk1.mjs", "", "2025-11-25", 1},
		{table.SDKv2Legacy, "sdk2.mjs", "legacy", "2025-11-25", 1},
		// A program that is only asked what it speaks goes before the one that is used.
		{table.SDKv2Auto, "sdk2.mjs", "auto", "2026-07-28", 2},
		{table.SDKv2Pinned, "sdk2.mjs", "2026-07-28", "2026-07-28", 2},
	} {
		for _, transport := range []string{table.Stdio, table.HTTP} {
			t.Run(s.client+" over "+transport, func(t *testing.T) { s.try(t, f, transport) })
		}
	}
}

// try has the whole talk from inside a session.
func (s sdk) try(t *testing.T, f *fleet, transport string) {
	name := strings.TrimSuffix(s.script, ".mjs") + s.mode + transport
	number := f.repo.Issue("the forge is slow today").Number()
	hold := f.gate.issue(t, number)
	// The program is started under another name that counts, and becomes agent-mcp.
	target := `"$FLEET_AGENT_MCP_URL"`
	count := `printf '#!/bin/sh\necho $$ >>%s/spawns\nexec %s\n' "$OUT" "$AGENT_MCP" >"$OUT/fleet-agent"; chmod +x "$OUT/fleet-agent"` + "\n"
	if transport == table.Stdio {
		target = `"$OUT/fleet-agent"`
	}
	run := f.start(t, name, count+strings.Join([]string{
		"keep talk", `"$NODE"`, installed(t, s.script), transport, target, `"$OUT"`, strconv.Itoa(number), s.mode,
	}, " "))
	s.abort(t, run, hold, transport)
	run.wait(t)
	k := run.kept(t, "talk")
	var got talk
	if err := json.Unmarshal([]byte(k.out), &got); err != nil || k.code != "0" {
		t.Fatalf("%s ended with %s: %v\n%s%s", s.script, k.code, err, k.out, k.err)
	}
	s.check(t, got, run.name)
	s.checkUnforeseen(t, got, transport)
	if k.err != "" {
		t.Errorf("agent-mcp or the SDK wrote %q on standard error", k.err)
	}
	if transport == table.Stdio {
		s.checkSpawns(t, run)
	}
	table.Client(t, table.ClientRow{
		Client: s.client, Version: got.Version, Transport: transport, Protocol: got.Protocol,
		Tools: len(got.Tools), Call: "agent_init, agent_status, agent_status_get; unknown tool; abort",
	})
}

// abort leads the client's call and the forge through the abort.
func (s sdk) abort(t *testing.T, run *session, hold *hold, transport string) {
	t.Helper()
	defer run.sign(t, "released")
	defer hold.release()
	arrives(t, hold.asked, "the question to the forge")
	run.sign(t, "stalled")
	if !run.appears("aborted") {
		t.Error("the call is not given up")
	}
	// What is read from the forge goes on, since others may wait for the same; the call does not.
	ended := func() bool { return run.calls(t, "repo_issue_view") == 1 }
	if s.cancels(transport) && !shipyard.Poll(ended) {
		t.Error("the ship goes on with a call that was aborted")
	}
}

// cancels says whether an abort ends the call. Over HTTP the clients of the old era keep their
// request open and only post notifications/cancelled, whose id could be that of another client
// of the workspace: the ship takes it and drops it.
func (s sdk) cancels(transport string) bool {
	return transport == table.Stdio || s.protocol == "2026-07-28"
}

// checkUnforeseen holds what the client was surprised by. The answer to a call that was aborted
// and not cancelled may come: "the sender of the cancellation notification SHOULD ignore any
// response" (2025-11-25, basic/utilities/cancellation).
func (s sdk) checkUnforeseen(t *testing.T, got talk, transport string) {
	t.Helper()
	for _, u := range got.Unforeseen {
		if s.cancels(transport) || !strings.Contains(u, "unknown message ID") {
			t.Errorf("the client reports %q, want nothing", u)
		}
	}
}

func arrives(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(shipyard.Patience):
		t.Errorf("%s does not come", what)
	}
}

// check holds a talk to what it must be in every mode.
func (s sdk) check(t *testing.T, got talk, workspace string) {
	t.Helper()
	if got.Protocol != s.protocol {
		t.Errorf("protocol %q was negotiated, want %q", got.Protocol, s.protocol)
	}
	if !slices.Equal(got.Tools, thirteen) {
		t.Errorf("the tools are %q, want %q", got.Tools, thirteen)
	}
	repo, name, _ := strings.Cut(workspace, "/")
	want := status{repo, name, got.Version, "idle", ""}
	if init := got.Init.status(t); init != want {
		t.Errorf("agent_init answered %+v, want %+v", init, want)
	}
	want.State, want.Description = "verifying", `é "#{x}" $HOME`
	for tool, a := range map[string]answer{"agent_status": got.Status, "agent_status_get": got.Get, "agent_status_get after the abort": got.After} {
		if s := a.status(t); s != want {
			t.Errorf("%s answered %+v, want %+v", tool, s, want)
		}
	}
	if !got.Refused.IsError || !strings.Contains(got.Refused.Text, "planning") {
		t.Errorf("a state that there is not is answered with %+v, want a tool's error that names the states", got.Refused)
	}
	if got.Unknown.Code != -32602.0 || !strings.Contains(got.Unknown.Message, "no_such_tool") {
		t.Errorf("an unknown tool is refused with %+v, want -32602 and its name", got.Unknown)
	}
	if !got.Stalled || !got.Released || got.Aborted.Result != nil || !strings.Contains(got.Aborted.Message, "the user is gone") {
		t.Errorf("the call in flight (stalled: %t) ended with %+v, want the abort's reason", got.Stalled, got.Aborted)
	}
}

func (s sdk) checkSpawns(t *testing.T, run *session) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(run.out, "spawns"))
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(text))
	if len(pids) != s.spawns {
		t.Errorf("agent-mcp was started %d times, want %d", len(pids), s.spawns)
	}
	for _, pid := range pids {
		gone := func() bool { _, err := os.Stat("/proc/" + pid); return os.IsNotExist(err) }
		if !shipyard.Poll(gone) {
			t.Errorf("agent-mcp %s is still there after its client has closed", pid)
		}
	}
}
