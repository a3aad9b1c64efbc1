package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/server"
)

func (a *app) createCommand() *cobra.Command {
	var branch, from string
	cmd := &cobra.Command{
		Use: "create REPO/NAME", Short: "Clone a registered repository into a new workspace", Args: exactly(1),
		ValidArgsFunction: a.completer(a.newNames),
		PreRunE: func(*cobra.Command, []string) error {
			if from != "" && branch == "" {
				return usage("--from names the start of a new branch, and no --branch is named")
			}
			return nil
		},
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, _ []string) error {
			progress := newProgress(a.stderr)
			made, err := c.Create(ctx, api.CreateRequest{WorkspaceName: t, Branch: branch, From: from}, progress.show)
			progress.end()
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is at %s, on %s.\nNext: %s\n", targetName(t), clean(made.Path), clean(deref(made.Branch, "a detached HEAD")), a.next("activate", targetName(t)))
			return nil
		}),
	}
	cmd.Flags().StringVar(&branch, "branch", "", "branch to check out; made when the repository has none of that name")
	cmd.Flags().StringVar(&from, "from", "", "where a new branch starts (default: the default branch)")
	return cmd
}

func (a *app) activateCommand() *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use: "activate REPO/NAME [-- CMD ARG…]", Short: "Start a workspace's tmux session, with its token", Args: commandAfterDash,
		ValidArgsFunction: a.completer(a.workspaceNames),
		PreRunE:           func(*cobra.Command, []string) error { return checkNames(names) },
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, command []string) error {
			env, err := namedEnv(names)
			if err != nil {
				return err
			}
			if _, err := c.Activate(ctx, api.ActivateRequest{WorkspaceName: t, Env: env, Command: command}); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is active.\nNext: %s\n", targetName(t), a.next("attach", targetName(t)))
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&names, "env", nil, "name of a variable of yours that the session gets too (repeat for more); never NAME=VALUE")
	return cmd
}

// commandAfterDash takes REPO/NAME, and more only behind "--".
func commandAfterDash(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if len(args) == 0 || dash == 0 {
		return usage("activate wants REPO/NAME")
	}
	if len(args) > 1 && dash != 1 {
		return usage("a command goes behind --, as in: ship activate %s -- %s", atlas.Quote(args[0]), atlas.Quote(args[1]))
	}
	return nil
}

func checkNames(names []string) error {
	for _, name := range names {
		if err := atlas.CheckEnvName(name); err != nil {
			return usage("--env: %v", err)
		}
	}
	return nil
}

// namedEnv takes the named variables' values from our environment, so that no value ever stands
// in an argument list.
func namedEnv(names []string) (map[string]string, error) {
	env := map[string]string{}
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("--env %s: it is not set; next: export it first", name)
		}
		env[name] = value
	}
	return env, nil
}

func (a *app) deactivateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "deactivate REPO/NAME", Short: "Revoke a workspace's token and end its session", Args: exactly(1),
		ValidArgsFunction: a.completer(a.workspaceNames),
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, _ []string) error {
			_, err := c.Deactivate(ctx, t)
			if isCode(err, api.Conflict) {
				fmt.Fprintf(a.stderr, "%s is not active; nothing was changed.\n", targetName(t))
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is no longer active; its files stay.\n", targetName(t))
			return nil
		}),
	}
}

func (a *app) removeCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "remove REPO/NAME", Aliases: []string{"rm"}, Short: "Delete a workspace's checkout", Args: exactly(1),
		ValidArgsFunction: a.completer(a.workspaceNames),
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, _ []string) error {
			if err := c.Remove(ctx, api.RemoveRequest{WorkspaceName: t, Force: force}); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is removed.\n", targetName(t))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it with what is uncommitted, unpushed or stashed")
	return cmd
}

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Rotate a workspace's token"}
	cmd.AddCommand(&cobra.Command{
		Use: "rotate REPO/NAME", Short: "Give a workspace a new token and revoke the old one", Args: exactly(1),
		ValidArgsFunction: a.completer(a.workspaceNames),
		RunE: a.onWorkspace(func(ctx context.Context, c *server.Client, t api.WorkspaceName, _ []string) error {
			if err := c.Rotate(ctx, t); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s has a new token; the old one opens nothing.\nRunning agent-mcp adapters follow by themselves. A harness that speaks HTTP with $FLEET_AGENT_MCP_TOKEN must be restarted in a new window of the session.\n", targetName(t))
			return nil
		}),
	})
	return noSubcommand(cmd)
}
