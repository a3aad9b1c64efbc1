package bridge

import (
	"slices"

	"fleet/api"
)

// advise gives an error about a forge's credential the hint that fits a bridge of its own process.
// What providers, guards and stores say names ship credential add, which fits an embedded one alone:
// run beside the ship, it would keep the token under the agents' user, from whom such a bridge keeps
// it. e is a copy that may be changed.
func (b *Broker) advise(c *order, e *api.Error) *api.Error {
	about := []string{reasonNoCredential, "credential_invalid", "credential_ambiguous"}
	if b.config.Embedded || c.repo.APIURL == nil || !slices.Contains(about, e.Reason) {
		return e
	}
	what := "put a credential for " + credentialHost(c.repo.APIURL) + " under credentials: of its bridge.yaml"
	if e.Reason == "credential_invalid" {
		what = "renew the credential for " + credentialHost(c.repo.APIURL) + " that its bridge.yaml names under credentials: (the token, or the GitHub App's key)"
	}
	e.Hint = "ask the operator of the bridge to " + what + ", as the bridge's own user, and then to send it SIGHUP"
	return e
}
