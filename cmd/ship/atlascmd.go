package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"fleet/internal/atlas"
	"fleet/internal/server"
)

func (a *app) initCommand() *cobra.Command {
	port := atlas.DefaultPort
	cmd := &cobra.Command{
		Use: "init [DIR]", Short: "Make DIR (default: the working directory) an atlas", Args: between(0, 1),
		ValidArgsFunction: files,
		RunE: works(func(_ *cobra.Command, args []string) error {
			dir := "."
			if a.atlasFlag != "" {
				dir = a.atlasFlag
			}
			if len(args) == 1 {
				dir = args[0]
			}
			if port < 0 || port > 65535 {
				return usage("port %d is not between 0 and 65535", port)
			}
			root, err := atlas.Init(dir, port)
			if err != nil {
				return hint(err, "choose a directory of its own, such as: ship init ~/fleet; one that is an atlas already needs none, see: ship up --atlas DIR")
			}
			fmt.Fprintf(a.stdout, "%s is an atlas now.\nNext: %s, then %s\n", clean(root), a.commandLine(root, "repo add NAME URL|PATH"), a.commandLine(root, "serve"))
			return nil
		}),
	}
	cmd.Flags().IntVar(&port, "port", port, "port of the MCP endpoint; 0: the system chooses at the first start and atlas.json keeps it")
	return cmd
}

func (a *app) repoCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "repo", Short: "Register, list and remove repositories"}
	cmd.AddCommand(a.repoAddCommand(), a.repoListCommand(), a.repoRemoveCommand())
	return noSubcommand(cmd)
}

// noSubcommand makes a bare group, and a wrong word after it, wrong usage.
func noSubcommand(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("%s wants a subcommand", cmd.CommandPath())
		}
		return unknown(cmd, args[0])
	}
	return cmd
}

func (a *app) repoAddCommand() *cobra.Command {
	var forge, apiURL string
	cmd := &cobra.Command{
		Use: "add NAME URL|PATH", Short: "Register anything that git can clone", Args: exactly(2),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			root, err := a.root()
			if err != nil {
				return err
			}
			repo, err := makeRepo(args[1], forge, apiURL)
			if err != nil {
				return err
			}
			if err := addRepo(root, args[0], repo); err != nil {
				return err
			}
			if err := a.reload(cmd.Context(), root); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is registered (forge %s).\nNext: %s\n", clean(args[0]), repo.Forge, a.commandLine(root, "create", atlas.ID{Repo: args[0], Name: "main"}.Shell()))
			return nil
		}),
	}
	cmd.Flags().StringVar(&forge, "forge", "", "one of "+strings.Join(atlas.Forges(), ", "))
	cmd.Flags().StringVar(&apiURL, "api-url", "", "address of the forge's API")
	return cmd
}

// addRepo registers repo. Registering the same once more changes nothing: the policy that the
// operator wrote beside it stays.
func addRepo(root, name string, repo atlas.Repo) error {
	if err := atlas.CheckName(name); err != nil {
		return err
	}
	return mend(atlas.Edit(root, func(f *atlas.File) error {
		old, ok := f.Repos[name]
		policy := old.Policy
		if old.Policy = nil; ok && old != repo {
			return fmt.Errorf("%s is registered already, for %s; next: choose another name, or ship repo remove %s first", clean(name), clean(old.URL), atlas.Quote(name))
		}
		repo.Policy = policy
		f.Repos[name] = repo
		return nil
	}))
}

// knownHosts maps well-known hosts to their forge and API.
func knownHosts(host string) (forge, apiURL string) {
	switch strings.ToLower(host) {
	case "github.com", "ssh.github.com":
		return "github", "https://api.github.com"
	case "gitlab.com", "altssh.gitlab.com":
		return "gitlab", "https://gitlab.com/api/v4"
	case "codeberg.org", "gitea.com":
		return "gitea", "https://" + strings.ToLower(host) + "/api/v1"
	}
	return "", ""
}

func makeRepo(source, forge, apiURL string) (atlas.Repo, error) {
	if err := atlas.CheckURL(source); err != nil {
		return atlas.Repo{}, err
	}
	if forge != "" && !slices.Contains(atlas.Forges(), forge) {
		return atlas.Repo{}, usage("%q is no forge; --forge is one of %s", forge, strings.Join(atlas.Forges(), ", "))
	}
	repo := atlas.Repo{URL: source, Forge: forge, APIURL: apiURL}
	host, remote := hostOf(source)
	if !remote && (apiURL != "" || forge != "" && forge != "none") {
		return repo, usage("%s is a path, which has no forge; register the repository by its forge's URL", clean(source))
	}
	if !remote {
		path, err := filepath.Abs(strings.TrimPrefix(source, "file://"))
		if err != nil {
			return repo, err
		}
		if _, err := os.Stat(path); err != nil {
			return repo, fmt.Errorf("%s is neither a URL that git knows nor a path that exists; next: give a URL such as https://github.com/OWNER/NAME", clean(source))
		}
		if atlas.Checkout(path) != path && !isBare(path) {
			return repo, fmt.Errorf("%s is no git repository; next: name its top directory, or a URL", clean(path))
		}
		repo.URL = path
		if repo.Forge == "" {
			repo.Forge = "none"
		}
		return repo, nil
	}
	knownForge, knownAPI := knownHosts(host)
	if repo.Forge == "" {
		repo.Forge = knownForge
	}
	if repo.Forge == "" {
		return repo, usage("%s is no well-known forge; say which it is with --forge %s", clean(host), strings.Join(atlas.Forges(), "|"))
	}
	if repo.Forge != "none" && !strings.Contains(strings.Trim(pathOf(source), "/"), "/") {
		return repo, fmt.Errorf("%s names no repository of a forge; next: give its whole URL, such as https://%s/OWNER/NAME", clean(source), clean(host))
	}
	if repo.APIURL == "" && repo.Forge == knownForge {
		repo.APIURL = knownAPI
	}
	if repo.APIURL == "" && repo.Forge != "none" {
		repo.APIURL = besidePort(source, repo.Forge)
	}
	return repo, nil
}

// besidePort is the API's address of a forge whose own address names a port. "" otherwise: the
// bridge knows where each forge has its API.
func besidePort(source, forge string) string {
	u, err := url.Parse(source)
	if err != nil || u.Port() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.Scheme + "://" + u.Host + map[string]string{"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}[forge]
}

// hostOf tells a remote address, as URL or as git's HOST:PATH, from a path on this machine.
func hostOf(source string) (host string, remote bool) {
	if u, err := url.Parse(source); err == nil && u.Scheme != "" && u.Scheme != "file" && u.Host != "" {
		return u.Hostname(), true
	}
	before, _, ok := strings.Cut(source, ":")
	if !ok || strings.Contains(before, "/") || strings.HasPrefix(source, "file:") {
		return "", false
	}
	return before[strings.LastIndex(before, "@")+1:], true
}

// pathOf is the path in a remote address.
func pathOf(source string) string {
	if u, err := url.Parse(source); err == nil && u.Scheme != "" && u.Host != "" {
		return u.Path
	}
	_, path, _ := strings.Cut(source, ":")
	return path
}

func (a *app) repoListCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the registered repositories", Args: exactly(0),
		RunE: works(func(*cobra.Command, []string) error {
			root, err := a.root()
			if err != nil {
				return err
			}
			f, err := atlas.Read(root)
			if err != nil {
				return mend(err)
			}
			return a.print(map[string]any{"repos": f.Repos}, func(w io.Writer) { a.printRepos(w, f.Repos) })
		}),
	})
}

func (a *app) printRepos(w io.Writer, repos map[string]atlas.Repo) {
	if len(repos) == 0 {
		fmt.Fprintln(w, "No repositories yet. Next: "+a.next("repo add NAME URL"))
		return
	}
	names := make([]string, 0, len(repos))
	for name := range repos {
		names = append(names, name)
	}
	sort.Strings(names)
	var t table
	t.row("REPO", "FORGE", "URL")
	for _, name := range names {
		t.row(name, repos[name].Forge, repos[name].URL)
	}
	t.print(w)
}

func (a *app) repoRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a repository; its workspaces stay on disk", Args: exactly(1),
		ValidArgsFunction: a.completer(a.repoNames),
		RunE: works(func(cmd *cobra.Command, args []string) error {
			root, err := a.root()
			if err != nil {
				return err
			}
			err = atlas.Edit(root, func(f *atlas.File) error {
				if _, ok := f.Repos[args[0]]; !ok {
					return fmt.Errorf("no repository is called %s; next: ship repo list", clean(args[0]))
				}
				delete(f.Repos, args[0])
				return nil
			})
			if err != nil {
				return mend(err)
			}
			fmt.Fprintf(a.stdout, "%s is forgotten.\n", clean(args[0]))
			if _, err := os.Stat(filepath.Join(root, args[0])); err == nil {
				fmt.Fprintf(a.stdout, "Its workspaces under %s stay as they are.\n", clean(filepath.Join(root, args[0])))
			}
			return a.reload(cmd.Context(), root)
		}),
	}
}

// mend adds what to do next to an error of atlas.json's; of others, nil too, it makes nothing.
func mend(err error) error {
	var refused *atlas.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	return hint(err, "mend "+atlas.Quote(refused.Path)+" and try again")
}

// reload lets a running ship read atlas.json again; where none runs, the next one will.
func (a *app) reload(ctx context.Context, root string) error {
	c, err := clientOf(root)
	if err == nil {
		_, err = c.Reload(ctx)
	}
	if errors.Is(err, server.ErrNoShip) {
		return nil
	}
	return err
}
