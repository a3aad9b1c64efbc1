package bridgetest

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Repo is a repository of the stand-in.
type Repo struct {
	gh          *GitHub
	id          int64
	owner, name string
	former      []string // paths it had
	description string
	private     bool
	readers     map[string]bool // of a private one; nil: everybody with a credential
	archived    bool
	noIssues    bool
	blocked     bool
	created     time.Time
	team        map[string]string // login to association
	numbers     int
	issues      []*Issue // pulls too
	branches    map[string]string
	commits     map[string]*commit
	runs        []*Run
	checks      []*Check
	statuses    []*status
	workflows   map[string]int64
}

type commit struct {
	sha     string
	message string
	made    time.Time
}

// Repo makes a public repository, OWNER/NAME, with a branch main.
func (g *GitHub) Repo(path string) *Repo {
	g.mu.Lock()
	defer g.mu.Unlock()
	owner, name, _ := strings.Cut(path, "/")
	r := &Repo{
		gh: g, id: g.id(), owner: owner, name: name, created: g.tick(), team: map[string]string{},
		branches: map[string]string{}, commits: map[string]*commit{}, workflows: map[string]int64{},
	}
	g.who(owner).kind = "Organization"
	r.branches["main"] = r.commit("first commit of " + path)
	g.repos = append(g.repos, r)
	return r
}

func (r *Repo) tell(what func()) *Repo {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	what()
	return r
}

// ID is the repository's number.
func (r *Repo) ID() int64 { return r.id }

// path is OWNER/NAME as it is now. It is called with mu held.
func (r *Repo) path() string { return r.owner + "/" + r.name }

// Describe sets the description.
func (r *Repo) Describe(text string) *Repo { return r.tell(func() { r.description = text }) }

// Private hides the repository from everybody but these accounts; from nobody who has a
// credential, where none is named.
func (r *Repo) Private(readers ...string) *Repo {
	return r.tell(func() {
		r.private = true
		for _, login := range readers {
			if r.readers == nil {
				r.readers = map[string]bool{}
			}
			r.readers[login] = true
		}
	})
}

// Hide makes the repository private to somebody else: everybody gets a 404.
func (r *Repo) Hide() *Repo { return r.Private("nobody") }

// Archive makes the repository read-only.
func (r *Repo) Archive() *Repo { return r.tell(func() { r.archived = true }) }

// DisableIssues turns issues off. Pull requests go on working.
func (r *Repo) DisableIssues() *Repo { return r.tell(func() { r.noIssues = true }) }

// Withhold makes GitHub answer 451, as after a notice under the DMCA.
func (r *Repo) Withhold() *Repo { return r.tell(func() { r.blocked = true }) }

// Member gives an account a standing, such as MEMBER or COLLABORATOR.
func (r *Repo) Member(login, association string) *Repo {
	return r.tell(func() { r.team[login] = association })
}

// Rename moves the repository to another path, by a rename or a transfer. Its number stays, and
// its former path leads to it.
func (r *Repo) Rename(path string) *Repo {
	return r.tell(func() {
		r.former = append(r.former, r.path())
		r.owner, r.name, _ = strings.Cut(path, "/")
		r.gh.who(r.owner).kind = "Organization"
	})
}

func (r *Repo) commit(message string) string {
	sum := sha1.Sum([]byte(r.path() + "\n" + message + "\n" + randomText(8)))
	c := &commit{sha: hex.EncodeToString(sum[:]), message: message, made: r.gh.tick()}
	r.commits[c.sha] = c
	return c.sha
}

// Branch points a branch at a new commit, and gives its hash.
func (r *Repo) Branch(name string) string {
	r.gh.mu.Lock()
	defer r.gh.mu.Unlock()
	r.branches[name] = r.commit("work on " + name)
	return r.branches[name]
}

// find gives the commit that a ref names: a branch, with heads/ or without, or a hash. It is
// called with mu held.
func (r *Repo) find(ref string) *commit {
	for _, name := range []string{ref, strings.TrimPrefix(ref, "heads/"), strings.TrimPrefix(ref, "refs/heads/")} {
		if sha := r.branches[name]; sha != "" {
			return r.commits[sha]
		}
	}
	if c := r.commits[ref]; c != nil {
		return c
	}
	for sha, c := range r.commits {
		if len(ref) >= 7 && strings.HasPrefix(sha, ref) {
			return c
		}
	}
	return nil
}

// association is what the repository has to do with an account.
func (r *Repo) association(login string) string {
	switch {
	case login != "" && r.team[login] != "":
		return r.team[login]
	case strings.EqualFold(login, r.owner):
		return "OWNER"
	default:
		return "NONE"
	}
}

// pushes says whether the account may write to the repository's conversations when they are locked.
func (r *Repo) pushes(login string) bool {
	return slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, r.association(login))
}

// issue gives the issue or pull request of a number. It is called with mu held.
func (r *Repo) issue(number int) *Issue {
	for _, i := range r.issues {
		if i.number == number {
			return i
		}
	}
	return nil
}

// locate finds a repository by the path it has, or had. It is called with mu held.
func (g *GitHub) locate(path string) (r *Repo, moved bool) {
	for _, r := range g.repos {
		if strings.EqualFold(r.path(), path) {
			return r, false
		}
	}
	for _, r := range g.repos {
		if slices.ContainsFunc(r.former, func(f string) bool { return strings.EqualFold(f, path) }) {
			return r, true
		}
	}
	return nil, false
}
