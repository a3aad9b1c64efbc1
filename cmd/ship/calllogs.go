package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleet/api"
)

func (a *app) callCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "call REPO/NAME TOOL [JSON]", Short: "Call a tool as the workspace's agent would, and print its text", Args: cobra.RangeArgs(2, 3),
		Example: `  ship call widgets/main agent_status_get` + "\n" + `  ship call widgets/main agent_status '{"state":"idle","description":"waiting for work"}'`,
		RunE: works(func(cmd *cobra.Command, args []string) error {
			t, err := workspaceArg(args[0])
			if err != nil {
				return err
			}
			req := api.CallRequest{WorkspaceName: t, Tool: args[1]}
			if len(args) == 3 {
				if !json.Valid([]byte(args[2])) {
					return usage("%s is not JSON", args[2])
				}
				req.Arguments = json.RawMessage(args[2])
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			result, err := c.Call(cmd.Context(), req)
			if err != nil {
				return a.asked(err)
			}
			if result.IsError && !a.json {
				return errors.New(result.Text)
			}
			if err := a.print(result, func(w io.Writer) { fmt.Fprintln(w, cleanText(result.Text)) }); err != nil || !result.IsError {
				return err
			}
			return &failure{} // the JSON says it
		}),
	})
}

func (a *app) logsCommand() *cobra.Command {
	var lines int
	cmd := a.withJSON(&cobra.Command{
		Use: "logs REPO/NAME", Short: "Print the text of a workspace's session", Args: cobra.ExactArgs(1),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			t, err := workspaceArg(args[0])
			if err != nil {
				return err
			}
			if lines < 0 {
				return usage("-n %d is less than 0", lines)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			logs, err := c.Logs(cmd.Context(), api.LogsRequest{WorkspaceName: t, Lines: lines})
			if err != nil {
				return a.asked(err)
			}
			return a.print(logs, func(w io.Writer) { fmt.Fprintln(w, strings.TrimRight(cleanText(logs.Text), "\n ")) })
		}),
	})
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "only the last LINES lines (0: all that the session keeps)")
	return cmd
}
