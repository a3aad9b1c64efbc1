package workspace

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"fleet/api"
	"fleet/internal/atlas"
)

// clone fills the empty directory temp.
func (m *Manager) clone(ctx context.Context, id atlas.ID, repo atlas.Repo, o CreateOptions, temp string, progress io.Writer) error {
	g := m.remoteGit(temp, progress)
	// Without --template=, git copies the hooks of its template folder.
	if _, err := g.run(ctx, "clone", "--progress", "--no-checkout", "--template=", "--origin", "origin", "--", repo.URL, "."); err != nil {
		return err
	}
	start, err := g.startOf(ctx, repo, o)
	if err != nil {
		return err
	}
	switch {
	case start == "" && o.Branch == "": // a repository without commits, or a default branch that is gone
		return nil
	case start == "":
		_, err = g.run(ctx, "symbolic-ref", "HEAD", "refs/heads/"+o.Branch)
	case o.Branch == "":
		_, err = g.run(ctx, "checkout", "--progress", "-B", strings.TrimPrefix(start, "refs/remotes/origin/"), "--track", start)
	case start == "refs/remotes/origin/"+o.Branch:
		_, err = g.run(ctx, "checkout", "--progress", "-B", o.Branch, "--track", start)
	default:
		_, err = g.run(ctx, "checkout", "--progress", "-B", o.Branch, "--no-track", start)
	}
	return err
}

// startOf chooses what is to be checked out, as a whole ref name or a commit. It is empty where
// the remote has nothing.
func (g *git) startOf(ctx context.Context, repo atlas.Repo, o CreateOptions) (string, error) {
	const remote = "refs/remotes/origin/"
	if o.Branch != "" && g.has(ctx, remote+o.Branch) {
		if o.From != "" {
			return "", &api.Error{
				Code: api.Conflict, Reason: "branch_exists", Message: "the remote has the branch " + o.Branch + " already, so it starts from nothing else",
				Hint: "leave out --from, or choose another branch",
			}
		}
		return remote + o.Branch, nil
	}
	if o.From != "" {
		for _, ref := range []string{remote + o.From, "refs/tags/" + o.From, o.From} {
			if g.has(ctx, ref) {
				return ref, nil
			}
		}
		return "", &api.Error{
			Code: api.NotFound, Reason: "no_ref", Message: "the remote has no branch, tag or commit " + o.From,
			Hint: "git ls-remote " + atlas.Quote(repo.URL) + " lists what it has",
		}
	}
	if repo.DefaultBranch != "" && g.has(ctx, remote+repo.DefaultBranch) {
		return remote + repo.DefaultBranch, nil
	}
	head, err := g.run(ctx, "symbolic-ref", "--quiet", remote+"HEAD")
	if err != nil || !g.has(ctx, strings.TrimSpace(head)) {
		return "", ctx.Err()
	}
	return strings.TrimSpace(head), nil
}

func (g *git) has(ctx context.Context, ref string) bool {
	_, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	return err == nil
}

// uncloned says why there is no clone. git's own words are quoted after every credential in them
// was masked.
func (m *Manager) uncloned(ctx context.Context, id atlas.ID, repo atlas.Repo, err error) error {
	var already *api.Error
	if errors.As(err, &already) {
		return err
	}
	var failed *gitError
	words := ""
	if errors.As(err, &failed) {
		words = failed.words()
	}
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(words, t) {
				return true
			}
		}
		return false
	}
	e := &api.Error{Code: api.Unavailable, Reason: "clone_failed", Message: "git could not clone " + id.Repo, Err: err}
	if words != "" {
		e.Message += ": " + words
	}
	try := "see to it that this works without a question, then try again: GIT_TERMINAL_PROMPT=0 git ls-remote " + atlas.Quote(repo.URL)
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		e.Reason, e.Message, e.Hint = "timeout", "git did not end the clone of "+id.Repo+" in time", "look at the network, then try again"
	case ctx.Err() != nil:
		e.Reason, e.Message, e.Hint = "cancelled", "the clone of "+id.Repo+" was broken off", command("ship create", id)
	case has("No space left on device", "Disk quota exceeded") || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		e.Reason, e.Hint = "disk_full", "make room on the disk of the atlas, then try again"
	case has("terminal prompts disabled", "could not read Username", "could not read Password", "Authentication failed", "Permission denied (publickey"):
		e.Code, e.Reason = api.Unauthenticated, "credentials_needed"
		e.Message = "git needs a credential to clone " + id.Repo + " and has none: " + words
		e.Hint = "set up a git credential helper or an ssh key; " + try
	case has("Host key verification failed"):
		e.Code, e.Reason, e.Hint = api.Unauthenticated, "unknown_host_key", "connect once by hand and check the host's key; "+try
	case has("does not exist", "does not appear to be a git repository", "not found", "Repository not found"):
		e.Code, e.Reason = api.NotFound, "no_remote_repository"
		e.Hint = "check the address with ship repo list; " + try
	case errors.Is(err, errNoGit):
		e.Reason, e.Message, e.Hint = "git_missing", "git is not installed", "install git, then try again"
	default:
		e.Hint = try
	}
	return e
}
