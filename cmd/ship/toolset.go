package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fleet/api"
	"fleet/internal/toolset"
)

// toolsetHost is what toolsets know of the ship of an atlas. The environment is the one that the
// program was started with, without forge tokens where that is a daemon.
func toolsetHost(root string) toolset.Host {
	return toolset.Host{Atlas: root, Getenv: os.LookupEnv}
}

// loadToolsets puts the toolsets that atlas.json names in place of those served before. What is
// broken among them stands in the log, in ship status and in /readyz.
func (s *ship) loadToolsets(ctx context.Context) {
	s.server.LoadToolsets(ctx, toolsetHost(s.root), s.file.Load().Toolsets)
}

// status is what ship status shows as JSON.
type status struct {
	api.Workspaces
	Toolsets []api.Toolset `json:"toolsets"`
}

func statusOf(ship api.Ship, all api.Workspaces) status {
	if ship.Toolsets == nil { // a ship of an earlier version
		ship.Toolsets = []api.Toolset{}
	}
	return status{all, ship.Toolsets}
}

// printBroken says on stderr, beside what is printed as text or JSON, which toolsets are not served.
func (a *app) printBroken(ship api.Ship) {
	for _, line := range brokenToolsets(ship) {
		fmt.Fprintln(a.stderr, colour(a.stderr, broken, line))
	}
}

// brokenToolsets has a line for each toolset that atlas.json names and that is not served.
func brokenToolsets(ship api.Ship) []string {
	var lines []string
	for _, t := range ship.Toolsets {
		switch t.State {
		case api.ToolsetBroken:
			lines = append(lines, "! not served: "+oneLine(errors.New(t.Problem))+"; next: mend that (ship toolset check shows it too), then ship up or SIGHUP to the ship")
		case api.ToolsetChecking:
			lines = append(lines, "! not served yet: the contract of toolset "+clean(t.Use)+" is still being checked")
		}
	}
	return lines
}
