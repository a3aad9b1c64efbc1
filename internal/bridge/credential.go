package bridge

import (
	"context"
	"net/url"
	"strings"

	"fleet/api"
)

// Credential signs requests to one host. Its methods are safe for concurrent use.
type Credential interface {
	// ID names the credential in an audit and in cache keys, such as "file:github.com". It holds
	// no secret and may change when the operator puts another credential in its place.
	ID() string
	// Authorization is the header's whole value. The zero Secret means that there is none, so
	// that the request goes out anonymous; an error is an *api.Error.
	Authorization(ctx context.Context) (Secret, error)
	// Refused is told that the forge answered 401 to used. It says whether another one can be
	// had now. A caller asks at most once for each of its requests.
	Refused(ctx context.Context, used Secret) bool
}

// bound is a Credential that knows its host, and so can be kept from every other one.
type bound interface {
	serves(api *url.URL) bool
}

// The forges, as the registry spells them.
const (
	forgeGitHub = "github"
	forgeGitLab = "gitlab"
	forgeGitea  = "gitea"
)

// tokenVariables are the environment variables that hold forge tokens, by forge, the first one
// that is set counting. Whoever found one set hands it over in CredentialStoreConfig.Environment.
func tokenVariables() map[string][]string {
	return map[string][]string{
		forgeGitHub: {"GITHUB_TOKEN", "GH_TOKEN"},
		forgeGitLab: {"GITLAB_TOKEN"},
		forgeGitea:  {"GITEA_TOKEN"},
	}
}

// header makes the Authorization header's value of a token.
func header(forge string, token Secret) Secret {
	if token.IsZero() {
		return Secret{}
	}
	scheme := "Bearer "
	if forge == forgeGitea {
		scheme = "token " // Gitea and Forgejo take a personal token under this name in every version
	}
	return NewSecret(scheme + token.Reveal())
}

// parseToken takes a token out of a file or a variable. Blanks around it are an editor's or an
// echo's; anything but visible ASCII within it can't be a token, and would break the header.
func parseToken(text, where string) (Secret, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Secret{}, unusable(where, "is empty")
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return Secret{}, unusable(where, "is not one line of visible ASCII characters")
		}
	}
	return NewSecret(text), nil
}

// unusable is the error for a credential that is there and can't be used.
func unusable(where, why string) *api.Error {
	return &api.Error{
		Code: api.Unauthenticated, Reason: "credential_unusable",
		Message: "the bridge's credential cannot be used: " + where + " " + why,
		Hint:    "ask the operator of the bridge to put it right",
	}
}

// tokenCredential is a token that stays the same for the life of the process.
type tokenCredential struct {
	id    string
	forge string
	token Secret
}

func (c tokenCredential) ID() string { return c.id }

func (c tokenCredential) Authorization(context.Context) (Secret, error) {
	return header(c.forge, c.token), nil
}

func (c tokenCredential) Refused(context.Context, Secret) bool { return false }
