package main

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"fleet/api"
	"fleet/internal/atlas"
)

// printUp says what runs and what to do next. Every command it prints works as it stands, from
// any directory.
func (a *app) printUp(ship api.Ship, t *api.WorkspaceName) {
	self := atlas.Quote(executable())
	if found, err := a.root(); err != nil || found != ship.Root {
		self += " --atlas " + atlas.Quote(ship.Root)
	}
	p := func(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }
	p("Fleet is up: ship %s serves the atlas %s on 127.0.0.1:%d.", clean(ship.Version), clean(ship.Root), ship.Port)
	p("Form: one user. Tokens tell agents apart, but any process of this user can read them; for the hard form")
	p("give each ship a user or container of its own (README, \"What it holds against\").")
	for _, problem := range ship.Problems {
		p("! %s", clean(problem))
	}
	if t == nil {
		p("\nNext: %s up PATH-OR-URL-OF-A-REPOSITORY", self)
		return
	}
	name := targetName(*t)
	p("\nWorkspace %s is active, at %s.\n\nNext:", name, clean(filepath.Join(ship.Root, t.Repo, t.Name)))
	p("  look at what an agent will find     (cd %s && %s --check)", atlas.Quote(filepath.Join(ship.Root, t.Repo, t.Name)), atlas.Quote(adapterPath()))
	for _, line := range harnessSteps() {
		p("  %s", line)
	}
	p("  go into the session, start it there %s attach %s    (leave it with Ctrl-b d)", self, name)
	p("  see who works and who waits for you %s status", self)
	p("  stop the ship; sessions live on     %s down", self)
	p("\nAn agent there can now register itself (agent_init), report what it does (agent_status) and read that back")
	p("(agent_status_get). Its repo_* tools answer with an error that says what is missing, until a bridge is configured.")
}

// adapterPath is agent-mcp as it was built beside this program.
func adapterPath() string { return filepath.Join(filepath.Dir(executable()), "agent-mcp") }

// harnessSteps gives a registration for each harness that is installed, else how to register
// any.
func harnessSteps() []string {
	adapter := atlas.Quote(adapterPath())
	var steps []string
	for _, h := range []struct{ program, title, command string }{
		{"claude", "register Claude Code, once          ", "claude mcp add -s user fleet-agent -- " + adapter},
		{"codex", "register Codex, once                ", "codex mcp add fleet-agent -- " + adapter},
		{"gemini", "register Gemini CLI, once           ", "gemini mcp add -s user fleet-agent " + adapter},
	} {
		if _, err := exec.LookPath(h.program); err == nil {
			steps = append(steps, h.title+h.command)
		}
	}
	if steps == nil {
		steps = []string{"register your harness, once         an MCP server called fleet-agent over stdio, command " + adapter + ", no arguments"}
	}
	return steps
}
