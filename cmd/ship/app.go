package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/build"
	"fleet/internal/server"
)

// app is one run of the program.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	atlasFlag      string
	bridgeFlag     string // --config of the bridge commands
	json           bool
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "ship",
		Short:         "Give each coding agent its own MCP server, bound to its workspace",
		Long:          "ship serves one atlas, the directory tree that holds your workspaces, and is how you operate it.\nNew here? Run: ship up PATH-OF-A-REPOSITORY",
		SilenceErrors: true, SilenceUsage: true,
		Version: build.Version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknown(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.PersistentFlags().StringVar(&a.atlasFlag, "atlas", "", "root of the atlas (default: $FLEET_ATLAS, else the nearest above, else ~/fleet)")
	root.AddCommand(
		a.initCommand(), a.serveCommand(), a.upCommand(), a.downCommand(), a.repoCommand(), a.credentialCommand(),
		a.createCommand(), a.activateCommand(), a.deactivateCommand(), a.removeCommand(),
		a.lsCommand(), a.statusCommand(), a.attachCommand(), a.logsCommand(), a.eventsCommand(),
		a.callCommand(), a.tokenCommand(), a.bridgeCommand(), a.harnessCommand(), a.toolsetCommand(), a.serviceCommand(), a.versionCommand(),
	)
	root.SetFlagErrorFunc(misusedFlag)
	strictHelpers(root)
	document(root)
	return root
}

// withJSON gives a reading command its --json.
func (a *app) withJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON value")
	return cmd
}

// root finds the atlas: --atlas, then $FLEET_ATLAS, then the nearest one above, then the one
// that ship up makes in the home directory.
func (a *app) root() (string, error) {
	for _, named := range []string{a.atlasFlag, os.Getenv("FLEET_ATLAS")} {
		if named == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(named)
		if err != nil {
			return "", hint(err, "make an atlas there: ship init "+atlas.Quote(named))
		}
		if real, err = filepath.Abs(real); err != nil {
			return "", err
		}
		if _, err := os.Lstat(filepath.Join(real, atlas.FileName)); errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%s has no %s; next: ship init %s", real, atlas.FileName, atlas.Quote(real))
		}
		return real, nil
	}
	root, err := atlas.FindRoot(".")
	if err == nil {
		return root, nil
	}
	if spoilt := spoiltOf(err, above(".")); spoilt != nil {
		return "", spoilt
	}
	found, homeErr := homeAtlas()
	if found != "" {
		return found, nil
	}
	if homeErr != nil {
		if spoilt := spoiltOf(homeErr, homeAtlases()); spoilt != nil {
			return "", spoilt
		}
		err = fmt.Errorf("%w; and %w", err, homeErr)
	}
	return "", hint(err, "ship up PATH (or ship init DIR), or name one with --atlas DIR")
}

// homeAtlas finds the atlas that ship up makes. "" and an error: there is one that is not valid.
func homeAtlas() (string, error) {
	for _, dir := range homeAtlases() {
		if _, err := os.Lstat(filepath.Join(dir, atlas.FileName)); err != nil {
			continue
		}
		found, err := atlas.FindRoot(dir)
		if err != nil || sameDir(found, dir) {
			return found, err
		}
	}
	return "", nil
}

// commandLine writes a command line of this program that works from any directory: with the
// program's path where the shell would not find it, and with --atlas where another atlas would
// be taken.
func (a *app) commandLine(root string, words ...string) string {
	line := atlas.Quote(programName())
	if found, _ := homeAtlas(); found != root {
		line += " --atlas " + atlas.Quote(root)
	}
	return strings.Join(append([]string{line}, words...), " ")
}

// next is commandLine for a further step in the atlas that this run is about.
func (a *app) next(words ...string) string {
	if words[0] == "bridge" && a.bridgeFlag != "" {
		return strings.Join(append(a.prefix(words[0], ""), words[1:]...), " ")
	}
	root, err := a.root()
	if err != nil {
		return strings.Join(append([]string{"ship"}, words...), " ")
	}
	return a.commandLine(root, words...)
}

// programName is "ship" where the shell finds this very program under that name, else its path.
func programName() string {
	if found, err := exec.LookPath("ship"); err == nil && sameDir(found, executable()) {
		return "ship"
	}
	return executable()
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "ship"
	}
	return path
}

// homeAtlases lists where ship up makes an atlas: ~/fleet, or beside it where ~/fleet is a
// checkout, such as a clone of Fleet itself.
func homeAtlases() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(home, "fleet"), filepath.Join(home, "fleet-atlas")}
}

func sameDir(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// client speaks to the ship of the atlas.
func (a *app) client() (*server.Client, error) {
	root, err := a.root()
	if err != nil {
		return nil, err
	}
	return clientOf(root)
}

func clientOf(root string) (*server.Client, error) {
	dir, err := atlas.Sockets(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, noShip(root, server.ErrNoShip)
	}
	if err != nil {
		return nil, err
	}
	return server.NewClient(filepath.Join(dir, atlas.OperatorSocket)), nil
}

// asked adds to a failed request what to do where no ship runs.
func (a *app) asked(err error) error {
	if !errors.Is(err, server.ErrNoShip) {
		return err
	}
	root, rootErr := a.root()
	if rootErr != nil {
		return err
	}
	return noShip(root, err)
}

func noShip(root string, err error) error {
	at := ""
	if found, _ := homeAtlas(); found != root {
		at = " --atlas " + atlas.Quote(root)
	}
	e := &api.Error{
		Code: api.Unavailable, Message: "no ship serves " + root,
		Hint: "ship up" + at + " (in the background) or ship serve" + at, Err: err,
	}
	if url, _ := forgottenBridge(root); url != "" {
		e.Message += "; " + forgotten(url)
		e.Hint = rememberIt + "; then " + e.Hint
	}
	return e
}

// print writes v as JSON where --json was given, and calls text otherwise.
func (a *app) print(v any, text func(w io.Writer)) error {
	if !a.json {
		text(a.stdout)
		return nil
	}
	out := json.NewEncoder(a.stdout)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// onWorkspace makes a command's function of what it does with the ship and the workspace that
// its first argument names; rest is what follows.
func (a *app) onWorkspace(f func(ctx context.Context, c *server.Client, t api.WorkspaceName, rest []string) error) func(*cobra.Command, []string) error {
	return works(func(cmd *cobra.Command, args []string) error {
		t, err := workspaceArg(args[0])
		if err != nil {
			return err
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		return a.asked(f(cmd.Context(), c, t, args[1:]))
	})
}

// workspaceArg reads REPO/NAME.
func workspaceArg(s string) (api.WorkspaceName, error) {
	id, err := atlas.ParseID(s)
	if err != nil {
		return api.WorkspaceName{}, usage("%v; name a workspace as REPO/NAME", err)
	}
	return api.WorkspaceName{Repo: id.Repo, Name: id.Name}, nil
}

func targetName(t api.WorkspaceName) string { return atlas.ID{Repo: t.Repo, Name: t.Name}.Shell() }
