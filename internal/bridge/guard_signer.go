package bridge

import (
	"context"
	"strings"
)

// Signer tells apart the accounts that sign, without a secret: another one may stand for another
// account. The tokens of a GitHub App's installation come and go, and its account stays.
func (g *Guard) Signer(ctx context.Context) (string, error) {
	if g.credential == nil {
		return anonymous, nil
	}
	id := g.credential.ID()
	if strings.HasPrefix(id, "app:") {
		return id, nil
	}
	secret, err := g.credential.Authorization(ctx)
	return id + " " + secret.Fingerprint(), err
}
