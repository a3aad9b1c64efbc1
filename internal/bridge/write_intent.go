package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// intent is c as it is stored.
func (c *order) intent() *intent {
	kinds := map[string]string{OpIssueComment: IssueComment, OpPRComment: PullComment, OpPRReview: PullReview}
	i := &intent{
		ID: c.id, RequestID: c.id, Ship: c.grant.Ship, Repo: c.Repo, Workspace: c.Workspace, Op: c.Op,
		Write:      Write{Kind: kinds[c.Op], Number: c.Number, Body: c.Body},
		Credential: c.signed, State: intentStarted, StartedAt: time.Now().UTC(), BodySHA256: hashLine([]byte(c.Body)),
	}
	if c.Op == OpPRReview {
		i.Write.Event, i.Write.Head = c.Event, c.Head
	}
	i.KeyHash = hashOf(i.Ship, i.Repo, c.Key)
	i.Payload = hashOf(i.Op, i.Workspace, fmt.Sprint(i.Write.Number), i.Write.Event, i.Write.Head, i.Write.Body)
	return i
}

// contentHash leaves out where the repository is on the forge: under a new address, the same words
// may already be there.
func (i *intent) contentHash() string {
	return hashOf(i.Ship, i.Repo, i.Workspace, i.Op, fmt.Sprint(i.Write.Number), i.Write.Event, i.Write.Head, i.Write.Body)
}

// hashOf keeps its parts apart.
func hashOf(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
