package main

import (
	"os"
	"path/filepath"
	"sort"

	"github.com/spf13/cobra"

	"fleet/internal/atlas"
	"fleet/internal/server"
	"fleet/internal/toolset"
)

// completer proposes a command's words, one list a position. It reads files alone, so that it
// works without a running ship.
func (a *app) completer(positions ...func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(positions) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return positions[len(args)](), cobra.ShellCompDirectiveNoFileComp
	}
}

// workspaceNames lists the atlas's workspaces as REPO/NAME, but for those whose name shows as
// another: a shell would put onto the terminal what no person sees.
func (a *app) workspaceNames() []string {
	root, err := a.root()
	if err != nil {
		return nil
	}
	var names []string
	dirs, _ := filepath.Glob(filepath.Join(root, "*", "*"))
	for _, dir := range dirs {
		id, err := atlas.NewID(filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
		if err == nil && atlas.CheckWorkspace(root, id) == nil && clean(id.String()) == id.String() {
			names = append(names, id.String())
		}
	}
	return names
}

// repoNames lists the registered repositories.
func (a *app) repoNames() []string {
	root, err := a.root()
	if err != nil {
		return nil
	}
	f, err := atlas.Read(root)
	if err != nil {
		return nil
	}
	var names []string
	for name := range f.Repos {
		if clean(name) == name {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// newNames proposes REPO/ for a workspace that is to be made.
func (a *app) newNames() []string {
	names := a.repoNames()
	for i := range names {
		names[i] += string(os.PathSeparator)
	}
	return names
}

// toolNames lists the tools of every workspace: Fleet's own and those of the toolsets that
// atlas.json names.
func (a *app) toolNames() []string {
	names := server.ToolNames()
	root, err := a.root()
	if err != nil {
		return names
	}
	f, err := atlas.Read(root)
	if err != nil {
		return names
	}
	for _, ref := range f.Toolsets {
		set, err := toolset.Load(toolsetHost(root), ref)
		if err != nil {
			continue
		}
		for _, t := range set.Tools() {
			names = append(names, t.Name)
		}
	}
	return names
}

// files proposes files and directories, for the commands that take a path.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}
