package github

import (
	"context"
	"strings"
	"sync"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

// maxAccounts bounds what is remembered of credentials that are gone.
const maxAccounts = 16

// account remembers, by API and signer, who the credential's account is.
type account struct {
	mu    sync.Mutex
	known map[string]string // login by base and signer
}

// me is the login under which the forge files what the bridge writes. A token's account is asked
// with GET /user; a GitHub App's installation may not, and learns from GraphQL that it is
// "slug[bot]".
func (p *Provider) me(ctx context.Context, at place) (string, error) {
	signer, err := p.guard.Signer(ctx)
	if err != nil {
		return "", err
	}
	p.account.mu.Lock()
	login := p.account.known[at.base+" "+signer]
	p.account.mu.Unlock()
	if login != "" {
		return login, nil
	}
	var user gh.User
	_, err = p.get(ctx, at.base+"user", &user)
	login = user.GetLogin()
	if hasCode(err, api.Forbidden, api.NotFound) || err == nil && login == "" {
		login, err = p.viewer(ctx, at)
	}
	if err != nil {
		return "", err
	}
	if now, err := p.guard.Signer(ctx); err != nil || now != signer {
		return login, err // nobody knows which of the two was asked about
	}
	p.account.mu.Lock()
	defer p.account.mu.Unlock()
	if len(p.account.known) >= maxAccounts || p.account.known == nil {
		p.account.known = map[string]string{}
	}
	p.account.known[at.base+" "+signer] = login
	return login, nil
}

func (p *Provider) viewer(ctx context.Context, at place) (string, error) {
	var answer struct{ Viewer struct{ Login string } }
	if err := p.ask(ctx, at, "query { viewer { login } }", nil, &answer); err != nil {
		return "", err
	}
	if answer.Viewer.Login == "" {
		return "", &api.Error{Code: api.Unavailable, Reason: "no_account", Message: "the forge does not say which account the bridge's credential is of"}
	}
	return answer.Viewer.Login, nil
}

// sameLogin knows that GraphQL leaves "[bot]" out of some apps' logins.
func sameLogin(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, "[bot]"), strings.TrimSuffix(b, "[bot]"))
}
