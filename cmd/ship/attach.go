package main

import (
	"fmt"
	"net/url"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/workspace"
)

func (a *app) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use: "attach REPO/NAME", Short: "Go into a workspace's session (leave it with Ctrl-b d)", Args: exactly(1),
		ValidArgsFunction: a.completer(a.workspaceNames),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			t, err := workspaceArg(args[0])
			if err != nil {
				return err
			}
			root, err := a.root()
			if err != nil {
				return err
			}
			c, err := clientOf(root)
			if err != nil {
				return err
			}
			ws, err := c.Workspace(cmd.Context(), t)
			if err != nil {
				return a.asked(err)
			}
			if !ws.Active {
				return fmt.Errorf("%s is not active; next: %s", targetName(t), a.commandLine(root, "activate", targetName(t)))
			}
			if inside(t) {
				return fmt.Errorf("you are in the session of %s already", targetName(t))
			}
			if !isTerminal(a.stdout) {
				return fmt.Errorf("attach wants a terminal; next: ship logs %s prints the session's text", targetName(t))
			}
			path, argv, env, err := workspace.AttachCommand(root, atlas.ID{Repo: t.Repo, Name: t.Name}, os.Environ())
			if err != nil {
				return err
			}
			return fmt.Errorf("execute tmux: %w", syscall.Exec(path, argv, env))
		}),
	}
}

// inside says that this very program runs in the session of t: to show it in itself would
// mirror it without end.
func inside(t api.WorkspaceName) bool {
	u, err := url.Parse(os.Getenv(atlas.URLVariable))
	return err == nil && u.EscapedPath() == atlas.ID{Repo: t.Repo, Name: t.Name}.MCPPath()
}
