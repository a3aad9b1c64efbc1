package main

import (
	"fmt"
	"strings"

	"fleet/api"
	"fleet/internal/atlas"
)

// printUp says what runs and what to do next. Every command it prints works as it stands, from
// any directory.
func (a *app) printUp(ship api.Ship, t *api.WorkspaceName) {
	p := func(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }
	p("Fleet is up: ship %s serves the atlas %s on 127.0.0.1:%d.", clean(ship.Version), clean(ship.Root), ship.Port)
	for _, line := range form(ship) {
		p("%s", line)
	}
	for _, problem := range ship.Problems {
		p("! %s", clean(problem))
	}
	for _, line := range brokenToolsets(ship) {
		p("%s", line)
	}
	if problem := a.otherBridge(ship); problem != "" {
		p("! %s", clean(problem))
	}
	if t == nil {
		p("\nNext:\n  %s\n  %s", a.commandLine(ship.Root, "status"), a.commandLine(ship.Root, "up PATH-OR-URL-OF-A-REPOSITORY"))
		return
	}
	id := atlas.ID{Repo: t.Repo, Name: t.Name}
	dir := id.Dir(ship.Root)
	p("\nWorkspace %s is active, at %s.\n\nNext:", id.Shell(), clean(dir))
	step := func(what, command string) { p("  %s\n      %s", what, command) }
	step("see what an agent there will find:", "(cd "+atlas.Quote(dir)+" && "+atlas.Quote(besideUs())+" --check)")
	step("register your harnesses, once (--dry-run shows first what that changes):", atlas.Quote(programName())+" harness install all")
	step("go into its session and start your harness there (leave it with Ctrl-b d):", a.commandLine(ship.Root, "attach", id.Shell()))
	step("see who works, and who waits for you:", a.commandLine(ship.Root, "status"))
	step("stop the ship; sessions live on without it, unless you add --sessions:", a.commandLine(ship.Root, "down"))
	p("\nAn agent there can now register itself (agent_init), report what it does (agent_status) and read that back")
	if steps := a.originSteps(ship.Root, t.Repo); len(steps) > 0 {
		p("(agent_status_get). %s\n      %s\nand give the bridge a token: %s", steps[0], strings.Join(steps[1:], "\n      "), a.giveToken(ship))
		return
	}
	p("(agent_status_get). For issues, pull requests and CI (repo_*), register a repository by its forge's URL and")
	p("give the bridge a token: %s", a.giveToken(ship))
}

// giveToken says how the ship's bridge gets a token.
func (a *app) giveToken(ship api.Ship) string {
	if ship.Bridge != embeddedBridge {
		return bridgeKeeps
	}
	return a.commandLine(ship.Root, "credential add HOST")
}

// form says how far the running form holds.
func form(ship api.Ship) []string {
	if ship.Bridge != embeddedBridge {
		return []string{
			"Form: the forge credentials are with the bridge at " + clean(ship.Bridge) + ". Where that runs as another user, and this ship has",
			"a user or container of its own, this is the hard form (README, \"What it holds against, and what not\").",
		}
	}
	return []string{
		"Form: one user, the bridge embedded. Tokens tell agents apart, but any process of this user can read them, and the",
		"forge credentials too; for the hard form see README, \"What it holds against, and what not\".",
	}
}
