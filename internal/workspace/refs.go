package workspace

import (
	"context"
	"strings"
	"time"

	"fleet/internal/atlas"
)

// askTags bounds the question which tags the remote has.
const askTags = 10 * time.Second

// otherRefs looks for commits that no branch leads to, but a tag, a note or a ref of another kind
// does.
func (s *shadow) otherRefs(ctx context.Context) (string, error) {
	if s.linked { // they belong to the clone
		return "", nil
	}
	safe := []string{"--not", "--remotes", "--branches"}
	if _, err := s.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
		safe = append(safe, "HEAD")
	}
	const notes = "--glob=refs/notes/*"
	tagged, err := s.commits(ctx, append([]string{"rev-list", "--count", "--tags"}, safe...)...)
	if err == nil && tagged > 0 {
		tagged, err = s.newTags(ctx, safe)
	}
	if err != nil {
		return "", err
	}
	noted, err := s.commits(ctx, append([]string{"rev-list", "--count", notes}, safe...)...)
	if err != nil {
		return "", err
	}
	rest := []string{
		"rev-list", "--count", "--exclude=refs/heads/*", "--exclude=refs/remotes/*", "--exclude=refs/tags/*",
		"--exclude=refs/notes/*", "--exclude=refs/stash", "--all",
	}
	more, err := s.commits(ctx, append(append(rest, safe...), "--tags", notes)...)
	if err != nil {
		return "", err
	}
	var found []string
	for _, f := range []struct {
		n     int
		where string
	}{{tagged, "that only a tag holds"}, {noted, "of git notes"}, {more, "that only an unusual ref holds"}} {
		if f.n > 0 {
			found = append(found, count(f.n, "commit")+" "+f.where)
		}
	}
	return strings.Join(found, ", "), nil
}

// newTags counts the commits that only tags hold and that no tag of the remote does. Which tags
// came from there is not recorded in a checkout, so the remote is asked; where it does not
// answer, all count.
func (s *shadow) newTags(ctx context.Context, safe []string) (int, error) {
	var known strings.Builder
	for line := range strings.Lines(s.remoteTags(ctx)) {
		if commit, _, ok := strings.Cut(line, "\t"); ok && hexID(commit) != nil {
			known.WriteString("^" + commit + "\n")
		}
	}
	args := append([]string{"rev-list", "--count", "--ignore-missing", "--stdin", "--tags"}, safe...)
	out, err := s.runWith(ctx, known.String(), args...)
	if err != nil {
		return 0, err
	}
	return number(out)
}

// remoteTags asks the remote that the operator registered, not the one that the checkout names.
func (m *Manager) remoteTags(ctx context.Context, id atlas.ID) string {
	repo, ok := m.c.Atlas().Repos[id.Repo]
	if !ok || atlas.CheckURL(repo.URL) != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTags)
	defer cancel()
	out, err := m.remoteGit("/", nil).run(ctx, "ls-remote", "--tags", "--", repo.URL)
	if err != nil {
		m.c.Logger.Warn("ask the remote for its tags", "repo", id.Repo, "err", err)
		return ""
	}
	return out
}
