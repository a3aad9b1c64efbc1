package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/agent"
	"fleet/internal/atlas"
)

func (a *app) eventsCommand() *cobra.Command {
	var q agent.Query
	var since time.Duration
	var only string
	cmd := a.withJSON(&cobra.Command{
		Use: "events", Short: "Print what happened, with and without a running ship", Args: exactly(0),
		RunE: works(func(cmd *cobra.Command, _ []string) error {
			if q.Type != "" && !slices.Contains(api.EventTypes(), q.Type) {
				return usage("no event has type %s; they are %s", q.Type, strings.Join(api.EventTypes(), ", "))
			}
			if since < 0 {
				return usage("--since %s is less than 0", since)
			}
			if since > 0 {
				q.Since = time.Now().Add(-since)
			}
			if only != "" {
				t, err := workspaceArg(only)
				if err != nil {
					return err
				}
				q.Repo, q.Workspace = t.Repo, t.Name
			}
			root, err := a.root()
			if err != nil {
				return err
			}
			if err := known(cmd.Context(), root, q); err != nil {
				return err
			}
			return a.printEvents(cmd.Context(), atlas.StateDir(root), q)
		}),
	})
	cmd.Flags().BoolVarP(&q.Follow, "follow", "f", false, "go on with what happens from now on; with --json one value a line")
	cmd.Flags().DurationVar(&since, "since", 0, "only what is younger, such as 1h")
	cmd.Flags().StringVar(&only, "workspace", "", "only what concerns REPO/NAME")
	cmd.Flags().StringVar(&q.Type, "type", "", "only events of this type, such as agent.status")
	cmd.Flags().BoolVar(&q.Calls, "calls", false, "the calls of tools too")
	_ = cmd.RegisterFlagCompletionFunc("workspace", a.completer(a.workspaceNames))
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(api.EventTypes(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// known refuses a workspace that is mistyped: that is none, and of which no event tells.
func known(ctx context.Context, root string, q agent.Query) error {
	if q.Repo == "" {
		return nil
	}
	id := atlas.ID{Repo: q.Repo, Name: q.Workspace}
	if atlas.CheckWorkspace(root, id) == nil {
		return nil
	}
	found := errors.New("found")
	every := agent.Query{Repo: q.Repo, Workspace: q.Workspace, Calls: true}
	err := agent.Read(ctx, atlas.StateDir(root), every, func(api.Event, []byte) error { return found })
	if errors.Is(err, found) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("there is no workspace %s, and no event tells of one; next: ship ls", clean(id.String()))
}

// printEvents prints a line an event. --json gives one value, {"events": […]}, or with -f one
// event a line.
func (a *app) printEvents(ctx context.Context, dir string, q agent.Query) error {
	var list []json.RawMessage
	err := agent.Read(ctx, dir, q, func(e api.Event, raw []byte) error {
		switch {
		case a.json && !q.Follow:
			list = append(list, raw)
			return nil
		case a.json:
			_, err := fmt.Fprintf(a.stdout, "%s\n", raw)
			return err
		default:
			_, err := fmt.Fprintln(a.stdout, eventLine(e))
			return err
		}
	})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err != nil || !a.json || q.Follow {
		return err
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return a.print(map[string]any{"events": list}, nil)
}

func eventLine(e api.Event) string {
	line := e.Time.Local().Format("2006-01-02 15:04:05") + "  " + e.Type
	if e.Repo != "" {
		line += "  " + e.Repo + "/" + e.Workspace
	}
	switch {
	case e.Call != nil:
		line += fmt.Sprintf("  %s %s in %d ms, %d bytes", e.Tool, e.Outcome, e.MS, e.Bytes)
	case e.Type == api.AgentInitialized && e.Agent != nil:
		line += fmt.Sprintf("  %s, %s (%s)", e.Agent.Harness, e.Agent.Model, e.Agent.Provider)
		if e.Replaced != nil {
			line += fmt.Sprintf(", in place of %s, %s", e.Replaced.Harness, e.Replaced.Model)
		}
	case e.Agent != nil:
		line += "  " + string(e.Agent.State) + ": " + e.Agent.Description
	case e.Reason != "":
		line += "  " + e.Reason
	}
	return clean(line)
}
