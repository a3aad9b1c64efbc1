package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
)

func (a *app) lsCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List every workspace", Args: cobra.NoArgs,
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
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKSPACE\tACTIVE\tBRANCH\tHEAD\tPATH")
	for _, ws := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name(ws), activity(ws), clean(deref(ws.Branch, "-")), shortHead(ws), clean(ws.Path))
	}
	_ = table.Flush()
}

func name(ws api.Workspace) string {
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
		Use: "status [REPO/NAME]", Short: "Show what each agent does and since when, those who wait for you first", Args: cobra.MaximumNArgs(1),
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
			return a.print(all, func(w io.Writer) { printStatus(w, ship, all.Workspaces, only != nil) })
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

const watchPeriod = time.Second

// watchStatus prints anew whenever something has changed. A ship that restarts in between is
// waited for.
func (a *app) watchStatus(ctx context.Context, only *api.WorkspaceName) error {
	var last []byte
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		ship, all, err := a.status(ctx, only)
		if err != nil && last == nil {
			return err
		}
		if err == nil {
			raw, err := json.Marshal(all)
			if err != nil {
				return err
			}
			if !bytes.Equal(raw, last) {
				last = raw
				a.redraw(raw, ship, all.Workspaces, only != nil)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *app) redraw(raw []byte, ship api.Ship, all []api.Workspace, detailed bool) {
	if a.json {
		fmt.Fprintf(a.stdout, "%s\n", raw)
		return
	}
	if isTerminal(a.stdout) {
		fmt.Fprint(a.stdout, "\x1b[H\x1b[2J")
	}
	printStatus(a.stdout, ship, all, detailed)
}

func printStatus(w io.Writer, ship api.Ship, all []api.Workspace, detailed bool) {
	now := time.Now()
	for _, problem := range ship.Problems {
		fmt.Fprintln(w, colour(w, "31", "! "+clean(problem)))
	}
	if ship.Version != version() {
		fmt.Fprintf(w, "! the running ship is version %s, this program is %s\n", clean(ship.Version), version())
	}
	switch {
	case detailed:
		for _, ws := range all {
			printDetails(w, ws, now)
		}
	case len(all) == 0:
		fmt.Fprintln(w, "No workspaces yet. Next: ship create REPO/NAME")
	default:
		printStatusTable(w, all, now)
	}
}

// printStatusTable lays the table out first and colours whole lines after, since a colour's
// bytes would count as width.
func printStatusTable(w io.Writer, all []api.Workspace, now time.Time) {
	var plain bytes.Buffer
	table := tabwriter.NewWriter(&plain, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKSPACE\tSTATE\tSINCE\tAGENT\tDOING")
	for _, ws := range all {
		state, since, who, what := summary(ws, now)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name(ws), state, since, who, what)
	}
	_ = table.Flush()
	for i, line := range strings.Split(strings.TrimRight(plain.String(), "\n"), "\n") {
		code := ""
		if i > 0 && all[i-1].Active && all[i-1].Agent != nil {
			code = stateColour(all[i-1].Agent.State)
		}
		fmt.Fprintln(w, colour(w, code, line))
	}
}

func summary(ws api.Workspace, now time.Time) (state, since, who, what string) {
	switch {
	case !ws.Active:
		return "inactive", "-", "-", activity(ws)
	case ws.Agent == nil && ws.Observed.MCPSeen != nil && !*ws.Observed.MCPSeen:
		return "no agent", "-", "-", "no MCP client has come since the session began (" + clean(deref(ws.Observed.PaneCommand, "?")) + " runs)"
	case ws.Agent == nil:
		return "no agent", "-", "-", "an MCP client came, but no agent_init"
	}
	what = clean(ws.Agent.Description)
	if deref(ws.InactiveReason, "") != "" {
		what = "(" + activity(ws) + ") " + what
	}
	return string(ws.Agent.State), age(now, ws.Agent.UpdatedAt), clean(ws.Agent.Harness + "/" + ws.Agent.Model), what
}

func printDetails(w io.Writer, ws api.Workspace, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(key, value string) { fmt.Fprintf(table, "%s\t%s\n", key, value) }
	row("workspace", name(ws))
	row("path", clean(ws.Path))
	row("active", activity(ws))
	row("branch", clean(deref(ws.Branch, "-"))+" at "+deref(ws.Head, "-"))
	if agent := ws.Agent; agent != nil {
		row("agent", clean(agent.Harness+", "+agent.Model+" ("+agent.Provider+")")+", since "+age(now, agent.StartedAt))
		row("reports", string(agent.State)+" since "+age(now, agent.UpdatedAt)+": "+clean(agent.Description))
	} else {
		row("agent", "none registered")
	}
	row("pane runs", clean(deref(ws.Observed.PaneCommand, "unknown")))
	row("pane changed", seen(ws.Observed.PaneActivityAt, now))
	row("last call", seen(ws.Observed.LastCallAt, now))
	_ = table.Flush()
}

func seen(at *time.Time, now time.Time) string {
	if at == nil {
		return "unknown"
	}
	return age(now, *at) + " ago"
}

func (a *app) versionCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "version", Short: "Print this program's version", Args: cobra.NoArgs,
		RunE: works(func(*cobra.Command, []string) error {
			return a.print(map[string]string{"version": version()}, func(w io.Writer) { fmt.Fprintln(w, version()) })
		}),
	})
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "ship"
	}
	return path
}
