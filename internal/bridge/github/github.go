// Package github is the bridge's provider for GitHub and GitHub Enterprise Server: it speaks
// their REST API, and GraphQL where REST does not tell. It may not know ships, grants or
// credentials; everything it sends goes through a bridge.Guard.
package github

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
	"fleet/internal/bridge"
)

const (
	accept   = "application/vnd.github+json"
	perPage  = "100" // the most that GitHub gives
	fullPage = 100

	// maxPages bounds a walk over one list: 5,000 items.
	maxPages = 50
)

// Provider speaks for one credential on one host. It is safe for concurrent use.
type Provider struct {
	guard  *bridge.Guard
	client *gh.Client
	broken error // why there is no client
	log    *slog.Logger

	learned  sync.Map // paths of repositories whose number the guard knows
	accounts accounts
}

var _ bridge.Provider = (*Provider)(nil)

// New sends nothing. The guard must be for the API of every repository that is asked for: another
// host is refused by it. A nil logger logs nothing.
func New(guard *bridge.Guard, log *slog.Logger) *Provider {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// The guard keeps the rate, and knows more of it than one client does.
	client, err := gh.NewClient(gh.WithHTTPClient(guard.Client()), gh.WithUserAgent("fleet"), gh.WithDisableRateLimitCheck())
	return &Provider{guard: guard, client: client, broken: err, log: log}
}

// Info gives the repository's metadata.
// See https://docs.github.com/rest/repos/repos#get-a-repository.
func (p *Provider) Info(ctx context.Context, r bridge.Repo) (*api.RepoInfo, error) {
	at, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	found, err := p.repository(ctx, at)
	if err != nil {
		return nil, err
	}
	info := &api.RepoInfo{
		Repo: r.Name, Forge: "github", FullName: found.GetFullName(), Description: found.GetDescription(),
		URL: found.GetHTMLURL(), DefaultBranch: found.GetDefaultBranch(), Visibility: found.GetVisibility(),
		Archived: found.GetArchived(), HasIssues: found.GetHasIssues(),
		OpenIssues: found.GetOpenIssuesCount(), UpdatedAt: found.GetUpdatedAt().UTC(),
	}
	if info.Visibility == "" { // GitHub Enterprise Server before 3.2
		info.Visibility = "public"
		if found.GetPrivate() {
			info.Visibility = "private"
		}
	}
	return info, nil
}

// repository reads the repository itself, and tells the guard its number.
func (p *Provider) repository(ctx context.Context, at place) (*gh.Repository, error) {
	var found gh.Repository
	if _, err := p.get(ctx, at.root(), &found); err != nil {
		if isMissing(err) {
			err = notVisible(at)
		}
		return nil, err
	}
	if err := p.guard.Learn(at.Path, found.GetID()); err != nil {
		return nil, err
	}
	p.learned.Store(at.Path, true)
	return &found, nil
}

// pinned gives the place by the repository's number, after a look that at's name still belongs to
// the repository that it belonged to: what is sent there reaches no other one that takes the name.
func (p *Provider) pinned(ctx context.Context, at place) (place, error) {
	found, err := p.repository(ctx, at)
	if err == nil {
		at.number = found.GetID()
	}
	return at, err
}

// place is a repository's address on the API.
type place struct {
	bridge.Repo
	base        string // of the API, ends in "/"
	owner, name string // escaped
	number      int64  // the repository's own, by which it is addressed; 0: by owner and name
}

// placeOf refuses what is not OWNER/NAME: a registry's slip must not reach another resource.
func placeOf(r bridge.Repo) (place, error) {
	owner, name, ok := strings.Cut(r.Path, "/")
	if !ok || !plainName(owner) || !plainName(name) || r.APIURL == nil {
		return place{}, &api.Error{
			Code: api.Invalid, Reason: "bad_repository", Message: "the repository is not registered as OWNER/NAME on GitHub",
			Hint: "ask the operator to check the repository's address",
		}
	}
	base := strings.TrimSuffix(r.APIURL.String(), "/") + "/"
	return place{Repo: r, base: base, owner: url.PathEscape(owner), name: url.PathEscape(name)}, nil
}

func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\%?#") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7F })
}

// root is the repository's own address. By its number is how the forge's redirects and links name
// it.
func (at place) root() string {
	if at.number != 0 {
		return at.base + "repositories/" + strconv.FormatInt(at.number, 10)
	}
	return at.base + "repos/" + at.owner + "/" + at.name
}

// under gives the address of what is below the repository. Each part is one segment: a slash in
// it is escaped.
func (at place) under(query url.Values, parts ...string) string {
	address := at.root()
	for _, part := range parts {
		address += "/" + url.PathEscape(part)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// graphQL is beside the REST API of an Enterprise Server, and below that of github.com.
func (at place) graphQL() string {
	if root, ok := strings.CutSuffix(at.base, "/api/v3/"); ok {
		return root + "/api/graphql"
	}
	return at.base + "graphql"
}
