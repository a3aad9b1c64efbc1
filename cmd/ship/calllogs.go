package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/server"
)

func (a *app) callCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "call REPO/NAME TOOL [JSON]", Short: "Call a tool as the workspace's agent would, and print its text", Args: between(2, 3),
		ValidArgsFunction: a.completer(a.workspaceNames, a.toolNames),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 3 && !json.Valid([]byte(args[2])) {
				return usage("%s is not JSON; write it as '{\"number\":7}'", args[2])
			}
			return nil
		},
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, rest []string) error {
			req := api.CallRequest{WorkspaceName: t, Tool: rest[0]}
			if len(rest) == 2 {
				req.Arguments = json.RawMessage(rest[1])
			}
			result, err := c.Call(ctx, req)
			if err != nil {
				return missing(ctx, c, t, err)
			}
			if result.IsError && !a.json {
				return errors.New(strings.ReplaceAll(result.Text, "\nNext: ", "; next: "))
			}
			if err := a.print(result, func(w io.Writer) { fmt.Fprintln(w, cleanText(result.Text)) }); err != nil || !result.IsError {
				return err
			}
			return &failure{} // the JSON says it
		}),
	})
}

// missing says of a workspace that there is none, where the ship only said that it is not active.
func missing(ctx context.Context, c *server.Client, t api.WorkspaceName, err error) error {
	if _, found := c.Workspace(ctx, t); isCode(err, api.Conflict) && isCode(found, api.NotFound) {
		return found
	}
	return err
}

func (a *app) logsCommand() *cobra.Command {
	var lines int
	cmd := a.withJSON(&cobra.Command{
		Use: "logs REPO/NAME", Short: "Print the text of a workspace's session", Args: exactly(1),
		ValidArgsFunction: a.completer(a.workspaceNames),
		PreRunE: func(*cobra.Command, []string) error {
			if lines < 0 {
				return usage("-n %d is less than 0", lines)
			}
			return nil
		},
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, _ []string) error {
			logs, err := c.Logs(ctx, api.LogsRequest{WorkspaceName: t, Lines: lines})
			if err != nil {
				return err
			}
			return a.print(logs, func(w io.Writer) { fmt.Fprintln(w, strings.Trim(cleanText(logs.Text), "\n ")) })
		}),
	})
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "only the last LINES lines (0: all that the session keeps)")
	return cmd
}
