package bridgetest

import (
	"strings"
	"time"
)

// Token is a credential that the stand-in knows.
type Token struct {
	gh    *GitHub
	text  string
	login string
	// may is what a fine-grained or an installation's token may, such as issues: write. nil: everything.
	may     map[string]string
	install *installation
	repos   map[int64]bool // of an installation's token
	expires time.Time      // zero: never
	revoked bool
}

// NewToken makes a classic personal access token of an account. It may do everything.
func (g *GitHub) NewToken(login string) *Token {
	return g.addToken("ghp_"+randomText(36), login, nil)
}

// FineGrained makes a fine-grained personal access token of an account, with permissions written
// as "issues:write". Such a token never may read checks: GitHub has no permission for them.
func (g *GitHub) FineGrained(login string, permissions ...string) *Token {
	return g.addToken("github_pat_"+randomText(82), login, permissionsOf(permissions))
}

// AddToken makes a token of a text that the caller chooses.
func (g *GitHub) AddToken(text, login string) *Token { return g.addToken(text, login, nil) }

func (g *GitHub) addToken(text, login string, may map[string]string) *Token {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.who(login)
	t := &Token{gh: g, text: text, login: login, may: may}
	g.tokens[text] = t
	return t
}

// Text is the token itself.
func (t *Token) Text() string { return t.text }

// Revoke makes the token one of no account.
func (t *Token) Revoke() {
	t.gh.mu.Lock()
	defer t.gh.mu.Unlock()
	t.revoked = true
}

func permissionsOf(list []string) map[string]string {
	all := map[string]string{"metadata": "read"}
	for _, p := range list {
		name, level, _ := strings.Cut(p, ":")
		all[name] = level
	}
	return all
}

// has says whether the token meets one of the alternatives in needs, such as
// "issues=write; pull_requests=write". It is called with mu held.
func (t *Token) has(needs string) bool {
	if t.may == nil || needs == "" {
		return true
	}
	for alternative := range strings.SplitSeq(needs, ";") {
		met := true
		for one := range strings.SplitSeq(alternative, ",") {
			name, level, _ := strings.Cut(strings.TrimSpace(one), "=")
			has := t.may[name]
			met = met && (has == level || has == "write")
		}
		if met {
			return true
		}
	}
	return false
}

// authorized finds the token of a request; nil and true: it has none. It is called with mu held.
func (c *call) authorized() (token *Token, ok bool) {
	values := c.req.Header.Values("Authorization")
	if len(values) == 0 {
		return nil, true
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "token") {
		return nil, false
	}
	token = c.gh.tokens[text]
	if token == nil || token.revoked || !token.expires.IsZero() && time.Now().After(token.expires) {
		return nil, false
	}
	return token, true
}

// sees says whether the token is for the repository at all: an installation's may be for some.
func (t *Token) sees(r *Repo) bool {
	if t == nil {
		return !r.private
	}
	if t.install == nil {
		return !r.private || r.readers == nil || r.readers[t.login]
	}
	return t.repos[r.id]
}
