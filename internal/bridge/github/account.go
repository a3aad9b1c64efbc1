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

// account is who the forge files what the bridge writes under. A login may change; the id stays.
type account struct {
	login string
	id    int64 // 0: not known
}

// accounts remembers, by API and signer, who the credential's account is.
type accounts struct {
	mu    sync.Mutex
	known map[string]account // by base and signer
}

// me is the account of what the bridge writes. A token's account is asked with GET /user; a GitHub
// App's installation may not, and learns from GraphQL that it is "slug[bot]". It is remembered
// where the forge gave its id.
func (p *Provider) me(ctx context.Context, at place) (account, error) {
	signer, err := p.guard.Signer(ctx)
	if err != nil {
		return account{}, err
	}
	p.accounts.mu.Lock()
	me, known := p.accounts.known[at.base+" "+signer]
	p.accounts.mu.Unlock()
	if known {
		return me, nil
	}
	var user gh.User
	_, err = p.get(ctx, at.base+"user", &user)
	me = account{user.GetLogin(), user.GetID()}
	if hasCode(err, api.Forbidden, api.NotFound) || err == nil && me.login == "" {
		me, err = p.viewer(ctx, at)
	}
	if err != nil {
		return account{}, err
	}
	if now, err := p.guard.Signer(ctx); err != nil || now != signer || me.id == 0 {
		return me, err // nobody knows which of the two was asked about, or what it is called next
	}
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	if len(p.accounts.known) >= maxAccounts || p.accounts.known == nil {
		p.accounts.known = map[string]account{}
	}
	p.accounts.known[at.base+" "+signer] = me
	return me, nil
}

// viewer gives no id: GraphQL may number an app's account in another way than REST.
func (p *Provider) viewer(ctx context.Context, at place) (account, error) {
	var answer struct{ Viewer struct{ Login string } }
	if err := p.ask(ctx, at, "query { viewer { login } }", nil, &answer); err != nil {
		return account{}, err
	}
	if answer.Viewer.Login == "" {
		return account{}, &api.Error{Code: api.Unavailable, Reason: "no_account", Message: "the forge does not say which account the bridge's credential is of"}
	}
	return account{login: answer.Viewer.Login}, nil
}

// wrote says that user is the account. GraphQL leaves "[bot]" out of some apps' logins.
func (a account) wrote(user *gh.User) bool {
	if a.id != 0 && user.GetID() != 0 {
		return a.id == user.GetID()
	}
	return strings.EqualFold(strings.TrimSuffix(user.GetLogin(), "[bot]"), strings.TrimSuffix(a.login, "[bot]"))
}
