package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/build"
)

func (a *app) lsCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List every workspace", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			all, err := c.Workspaces(cmd.Context())
			if err != nil {
				return a.asked(err)
			}
			return a.print(all, func(w io.Writer) { printList(w, all.Workspaces) })
		}),
	})
}

func printList(w io.Writer, all []api.Workspace) {
	if len(all) == 0 {
		fmt.Fprintln(w, "No workspaces yet. Next: ship create REPO/NAME")
		return
	}
	var t table
	t.row("WORKSPACE", "ACTIVE", "BRANCH", "HEAD", "PATH")
	for _, ws := range all {
		t.row(workspaceName(ws), activity(ws), deref(ws.Branch, "-"), shortHead(ws), ws.Path)
	}
	t.print(w)
}

func workspaceName(ws api.Workspace) string {
	return clean(atlas.ID{Repo: ws.Repo, Name: ws.Name}.String())
}

func shortHead(ws api.Workspace) string {
	const digits = 10
	head := deref(ws.Head, "-")
	return head[:min(digits, len(head))]
}

// activity says whether the session lives, and why not.
func activity(ws api.Workspace) string {
	reason := deref(ws.InactiveReason, "")
	said := map[string]string{
		api.InactiveNeverActivated: "no", api.InactiveCommand: "no, deactivated", api.InactiveSessionEnded: "no, its session ended",
		api.InactiveDirectoryGone: "its directory is gone", api.InactiveTokenConflict: "no, its token stands in two sessions",
		api.InactiveTmuxAway: "unknown, tmux does not answer",
	}
	if text, ok := said[reason]; ok {
		return text
	}
	if ws.Active {
		return "yes"
	}
	return "no"
}

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	cmd := a.withJSON(&cobra.Command{
		Use: "status [REPO/NAME]", Short: "Show what each agent does and since when, those who wait for you first", Args: between(0, 1),
		ValidArgsFunction: a.completer(a.workspaceNames),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			var only *api.WorkspaceName
			if len(args) == 1 {
				t, err := workspaceArg(args[0])
				if err != nil {
					return err
				}
				only = &t
			}
			if watch {
				return a.watchStatus(cmd.Context(), only)
			}
			ship, all, err := a.status(cmd.Context(), only)
			if err != nil {
				return err
			}
			a.printBroken(ship)
			return a.print(statusOf(ship, all), func(w io.Writer) { printStatus(w, w, ship, all.Workspaces, only != nil) })
		}),
	})
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing it as it changes; with --json one value a line")
	return cmd
}

// status asks for one or all workspaces, those that wait for a person first.
func (a *app) status(ctx context.Context, only *api.WorkspaceName) (api.Ship, api.Workspaces, error) {
	c, err := a.client()
	if err != nil {
		return api.Ship{}, api.Workspaces{}, err
	}
	ship, err := c.Info(ctx)
	if err != nil {
		return api.Ship{}, api.Workspaces{}, a.asked(err)
	}
	if only != nil {
		ws, err := c.Workspace(ctx, *only)
		return ship, api.Workspaces{Workspaces: []api.Workspace{ws}}, a.asked(err)
	}
	all, err := c.Workspaces(ctx)
	sortByNeed(all.Workspaces)
	return ship, all, a.asked(err)
}

// printStatus writes to w, in the colours that fit where it will be shown.
func printStatus(w, shown io.Writer, ship api.Ship, all []api.Workspace, detailed bool) {
	now := time.Now()
	for _, problem := range ship.Problems {
		fmt.Fprintln(w, colour(shown, broken, "! "+clean(problem)))
	}
	if ship.Version != build.Version() {
		fmt.Fprintf(w, "! the running ship is version %s, this program is %s\n", clean(ship.Version), build.Version())
	}
	switch {
	case detailed:
		for _, ws := range all {
			printDetails(w, ws, now)
		}
	case len(all) == 0:
		fmt.Fprintln(w, "No workspaces yet. Next: ship create REPO/NAME")
	default:
		printStatusTable(w, shown, all, now)
	}
}

// printStatusTable lays the table out first and colours whole lines after, since a colour's
// bytes would count as width.
func printStatusTable(w, shown io.Writer, all []api.Workspace, now time.Time) {
	var t table
	t.row("WORKSPACE", "STATE", "SINCE", "AGENT", "DOING")
	for _, ws := range all {
		state, since, who, what := summary(ws, now)
		t.row(workspaceName(ws), state, since, who, what)
	}
	for i, line := range t.lines() {
		code := ""
		if i > 0 && all[i-1].Active && all[i-1].Agent != nil {
			code = stateColour(all[i-1].Agent.State)
		}
		fmt.Fprintln(w, colour(shown, code, line))
	}
}

func summary(ws api.Workspace, now time.Time) (state, since, who, what string) {
	switch {
	case !ws.Active:
		return "inactive", "-", "-", strings.TrimPrefix(strings.TrimPrefix(activity(ws), "no"), ", ")
	case ws.Agent == nil && ws.Observed.MCPSeen != nil && !*ws.Observed.MCPSeen:
		return "no agent", "-", "-", pane(ws) + "no MCP client has come since the session began"
	case ws.Agent == nil:
		return "no agent", "-", "-", pane(ws) + "an MCP client came, but no agent_init"
	}
	what = clean(ws.Agent.Description)
	if deref(ws.InactiveReason, "") != "" {
		what = "(" + activity(ws) + ") " + what
	}
	return string(ws.Agent.State), age(now, ws.Agent.UpdatedAt), clean(ws.Agent.Harness + "/" + ws.Agent.Model), what
}

// pane says what the session's terminal runs, or how it ended.
func pane(ws api.Workspace) string {
	command := clean(deref(ws.Observed.PaneCommand, ""))
	switch {
	case command == "":
		return ""
	case strings.HasPrefix(command, "exited ") || strings.HasPrefix(command, "ended"):
		return "its command " + command + "; "
	}
	return command + " runs; "
}

func printDetails(w io.Writer, ws api.Workspace, now time.Time) {
	var t table
	row := func(key, value string) { t.row(key, value) }
	row("workspace", workspaceName(ws))
	row("path", clean(ws.Path))
	row("active", activity(ws))
	row("branch", clean(deref(ws.Branch, "-"))+" at "+deref(ws.Head, "-"))
	if agent := ws.Agent; agent != nil {
		row("agent", clean(agent.Harness+", "+agent.Model+" ("+agent.Provider+")")+", registered "+seen(&agent.StartedAt, now))
		row("reports", strings.TrimSuffix(string(agent.State)+" ("+seen(&agent.UpdatedAt, now)+"): "+clean(agent.Description), ": "))
	} else {
		row("agent", "none registered")
	}
	row("pane runs", clean(deref(ws.Observed.PaneCommand, "unknown")))
	row("pane changed", seen(ws.Observed.PaneActivityAt, now))
	row("last MCP call", seen(ws.Observed.LastCallAt, now))
	t.print(w)
}

func seen(at *time.Time, now time.Time) string {
	if at == nil {
		return "unknown"
	}
	if text := age(now, *at); text != "now" {
		return text + " ago"
	}
	return "just now"
}

func (a *app) versionCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "version", Short: "Print this program's version", Args: exactly(0),
		RunE: works(func(*cobra.Command, []string) error {
			return a.print(map[string]string{"version": build.Version()}, func(w io.Writer) { fmt.Fprintln(w, build.Version()) })
		}),
	})
}
