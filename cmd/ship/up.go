package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/server"
)

// firstWorkspace is the name of the workspace that ship up makes.
const firstWorkspace = "main"

func (a *app) upCommand() *cobra.Command {
	return &cobra.Command{
		Use: "up [URL|PATH]", SuggestFor: []string{"start"}, Short: "Newcomer's one command: an atlas, a running ship, an active workspace", Args: between(0, 1),
		ValidArgsFunction: files,
		RunE: works(func(cmd *cobra.Command, args []string) error {
			root, err := a.rootOrNew()
			if err != nil {
				return err
			}
			ran := answering(cmd.Context(), root) != nil
			c, err := a.ensureShip(cmd.Context(), root)
			if err != nil {
				return err
			}
			if ran {
				if _, err := c.Reload(cmd.Context()); err != nil {
					return err
				}
			}
			var t *api.WorkspaceName
			if len(args) == 1 {
				if t, err = a.ensureWorkspace(cmd.Context(), c, root, args[0]); err != nil {
					return err
				}
			}
			ship, err := c.Info(cmd.Context())
			if err != nil {
				return err
			}
			a.printUp(ship, t)
			return nil
		}),
	}
}

// rootOrNew finds the atlas, or makes one where the operator named it, else in the home.
func (a *app) rootOrNew() (string, error) {
	root, err := a.root()
	var spoilt *spoiltError
	if err == nil || errors.As(err, &spoilt) {
		return root, err
	}
	candidates := homeAtlases()
	if named := a.named(); named != "" {
		candidates = []string{named}
	}
	if len(candidates) == 0 {
		return "", hint(err, "name the atlas's directory: ship up --atlas DIR …")
	}
	var failed []string
	for _, dir := range candidates {
		root, err := atlas.Init(dir, freePort())
		if err == nil {
			fmt.Fprintf(a.stderr, "made an atlas at %s\n", clean(root))
			return root, nil
		}
		if root, again := a.root(); again == nil { // made by somebody else at the same moment
			return root, nil
		}
		failed = append(failed, err.Error())
	}
	return "", fmt.Errorf("%s; next: name another directory, as in: ship up --atlas /srv/fleet …", strings.Join(failed, "; "))
}

// freePort is the usual port, or 0, which lets the system choose, where another program has it.
func freePort() int {
	l, err := server.Listen(atlas.DefaultPort)
	if err != nil {
		return 0
	}
	l.Close()
	return atlas.DefaultPort
}

func (a *app) named() string {
	if a.atlasFlag != "" {
		return a.atlasFlag
	}
	return os.Getenv("FLEET_ATLAS")
}

// ensureWorkspace registers source, creates its first workspace and activates it, each only
// where it is missing.
func (a *app) ensureWorkspace(ctx context.Context, c *server.Client, root, source string) (*api.WorkspaceName, error) {
	if t := workspaceOf(root, source); t != nil {
		return t, a.ensureActive(ctx, c, *t)
	}
	repo, name, err := sourceRepo(source)
	if err != nil {
		return nil, err
	}
	if err := addRepo(root, name, repo); err != nil {
		return nil, err
	}
	if _, err := c.Reload(ctx); err != nil {
		return nil, err
	}
	t := api.WorkspaceName{Repo: name, Name: firstWorkspace}
	_, err = c.Workspace(ctx, t)
	if isCode(err, api.NotFound) {
		fmt.Fprintf(a.stderr, "cloning %s\n", clean(repo.URL))
		progress := newProgress(a.stderr)
		_, err = c.Create(ctx, api.CreateRequest{WorkspaceName: t}, progress.show)
		progress.end()
	}
	if err != nil && !isCode(err, api.Conflict) { // made by somebody else at the same moment
		return nil, err
	}
	return &t, a.ensureActive(ctx, c, t)
}

func isCode(err error, code api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == code
}

func (a *app) ensureActive(ctx context.Context, c *server.Client, t api.WorkspaceName) error {
	ws, err := c.Workspace(ctx, t)
	if err != nil || ws.Active {
		return err
	}
	_, err = c.Activate(ctx, api.ActivateRequest{WorkspaceName: t})
	if isCode(err, api.Conflict) { // active by now
		_, err = c.Workspace(ctx, t)
	}
	return err
}

// workspaceOf gives the workspace that a path lies in already: a checkout in the atlas is not
// cloned into it once more.
func workspaceOf(root, source string) *api.WorkspaceName {
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return nil
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || strings.HasPrefix(rel, "..") {
		return nil
	}
	parts := strings.Split(rel, string(filepath.Separator))
	if len(parts) < 2 {
		return nil
	}
	id, err := atlas.NewID(parts[0], parts[1])
	if err != nil || atlas.CheckWorkspace(root, id) != nil {
		return nil
	}
	return &api.WorkspaceName{Repo: id.Repo, Name: id.Name}
}

// sourceRepo turns ship up's argument into a repository and the name it gets: the last part of
// its address, or of the checkout that a path lies in.
func sourceRepo(source string) (atlas.Repo, string, error) {
	if _, remote := hostOf(source); !remote {
		local, err := filepath.Abs(strings.TrimPrefix(source, "file://"))
		if err != nil {
			return atlas.Repo{}, "", err
		}
		if _, err := os.Stat(local); err != nil {
			return atlas.Repo{}, "", fmt.Errorf("%s is neither a URL that git knows nor a path that exists; next: give a URL such as https://github.com/OWNER/NAME", clean(source))
		}
		if source = atlas.Checkout(local); source == "" {
			if source = local; !isBare(local) {
				return atlas.Repo{}, "", fmt.Errorf("%s is not in a git repository; next: git clone one, or give ship up a URL", clean(local))
			}
		}
	}
	repo, err := makeRepo(source, "", "")
	var u *usageError
	if errors.As(err, &u) {
		return repo, "", fmt.Errorf("%w, as in: ship repo add NAME %s --forge FORGE, then ship create NAME/main and ship activate NAME/main", err, atlas.Quote(source))
	}
	if err != nil {
		return repo, "", err
	}
	name := repoName(source)
	if err := atlas.CheckName(name); err != nil {
		return repo, "", hint(err, "choose a name yourself: ship repo add NAME "+atlas.Quote(source))
	}
	return repo, name, nil
}

func isBare(dir string) bool {
	_, err1 := os.Stat(filepath.Join(dir, "HEAD"))
	_, err2 := os.Stat(filepath.Join(dir, "objects"))
	return err1 == nil && err2 == nil
}

func repoName(source string) string {
	if u, err := url.Parse(source); err == nil && u.Scheme != "" && u.Path != "" {
		source = u.Path
	} else if host, remote := hostOf(source); remote {
		_, source, _ = strings.Cut(source, host+":")
	}
	return strings.TrimSuffix(path.Base(strings.TrimRight(source, "/")), ".git")
}
