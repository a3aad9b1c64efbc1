package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleet/api"
)

const (
	// duplicateTime is for how long the same words are taken for the same wish.
	duplicateTime = 10 * time.Minute
	// settleTime is after what time a write that was sent, and isn't there, won't come any more.
	settleTime = time.Minute
	headTime   = 10 * time.Second
	// clockSkew is by how much a forge's clock may be further behind ours than it says.
	clockSkew = time.Minute
)

// write does c once. Whoever comes with the same key, or the same content from the same workspace,
// while it is under way waits for it and gets its outcome.
func (b *Broker) write(ctx context.Context, c *order) (json.RawMessage, error) {
	i := c.intent()
	i.Path = c.resource()
	leave, err := b.turns.take(ctx, "key "+i.KeyHash)
	if err != nil {
		return nil, b.refused(c, busy(err))
	}
	defer leave()
	earlier, err := b.desk.store.intentBy(bucketKeys, i.KeyHash)
	if err != nil {
		return nil, internal(err)
	}
	if earlier != nil {
		return b.again(ctx, c, i, earlier)
	}
	if i.Write.Kind == PullReview && i.Write.Head == "" {
		if i.Write.Head, err = b.head(ctx, c); err != nil {
			return nil, b.refused(c, err)
		}
	}
	i.Content = i.contentHash()
	return b.writeContent(ctx, c, i)
}

// writeContent goes on once the key is known to be new.
func (b *Broker) writeContent(ctx context.Context, c *order, i *intent) (json.RawMessage, error) {
	leave, err := b.takeContent(ctx, c.repo, i)
	if err != nil {
		return nil, b.refused(c, busy(err))
	}
	defer leave()
	earlier, err := b.desk.store.intentBy(bucketContents, i.Content)
	if err != nil {
		return nil, internal(err)
	}
	if earlier != nil && (earlier.undecided() || earlier.State == intentDone && time.Since(earlier.StartedAt) < duplicateTime) {
		answer, decided, err := b.sameWords(ctx, c, i, earlier)
		if decided || err != nil {
			return answer, err
		}
	}
	if err := b.allowed(c); err != nil { // it may have waited
		return nil, b.refused(c, err)
	}
	return b.send(ctx, c, i)
}

// again answers a key that was used before.
func (b *Broker) again(ctx context.Context, c *order, i, earlier *intent) (json.RawMessage, error) {
	if earlier.Payload != i.Payload {
		return nil, b.refused(c, &api.Error{
			Code: api.Conflict, Reason: "key_reused",
			Message: "this key was used for another comment or review; nothing was posted",
			Hint:    "each call needs a key of its own",
		})
	}
	if earlier.undecided() {
		leave, err := b.takeContent(ctx, c.repo, earlier)
		if err != nil {
			return nil, busy(err)
		}
		defer leave()
		if earlier, err = b.desk.store.intentBy(bucketKeys, i.KeyHash); err != nil || earlier == nil {
			return nil, internal(errors.Join(err, errors.New("an intent is gone")))
		}
		if earlier.undecided() {
			b.look(ctx, c.forge, c.repo, earlier, 1)
		}
	}
	switch earlier.State {
	case intentDone:
		if earlier.KeyHash != i.KeyHash {
			return encode(earlier.duplicate())
		}
		return encode(earlier.Written)
	case intentFailed:
		return nil, earlier.Error
	}
	return nil, unknownOutcome(earlier)
}

// sameWords answers what another call from the same workspace asked for just now, word for word.
// It is not decided where that one was lost for certain, so that this one may be sent.
func (b *Broker) sameWords(ctx context.Context, c *order, i, earlier *intent) (answer json.RawMessage, decided bool, err error) {
	if earlier.undecided() {
		absent := b.look(ctx, c.forge, c.repo, earlier, 1)
		if absent && time.Since(earlier.StartedAt) >= settleTime {
			return nil, false, nil
		}
	}
	if earlier.State != intentDone {
		return nil, true, unknownOutcome(earlier)
	}
	if err := b.desk.store.alias(i, earlier.ID); err != nil {
		return nil, true, internal(err)
	}
	line := i.auditLine(auditDuplicate)
	line.URL = earlier.Written.URL
	if _, err := b.desk.audit.append(line); err != nil {
		b.log.Error("a duplicate isn't in the audit", "request", c.id, "cause", err.Error())
	}
	answer, err = encode(earlier.duplicate())
	return answer, true, err
}

// duplicate is the outcome for whoever asked for the same again.
func (i *intent) duplicate() api.Written {
	same := *i.Written
	same.DuplicateOf = same.URL
	same.Note = "the same text was posted at " + i.StartedAt.Format(time.RFC3339) +
		"; nothing was posted now. Other words, or the same ones after ten minutes, are posted"
	return same
}

// send asks the forge, once. Before it does, audit and intent are on the disk.
func (b *Broker) send(ctx context.Context, c *order, i *intent) (json.RawMessage, error) {
	var err error
	if i.Signer, err = c.forge.guard.Signer(ctx); err != nil {
		return nil, b.refused(c, err)
	}
	i.Behind = c.forge.guard.Behind()
	head, err := b.desk.audit.append(i.auditLine(auditWrite))
	if err != nil {
		return nil, auditUnwritable(err)
	}
	if err := b.desk.store.begin(i, head); err != nil {
		unstored := &api.Error{
			Code: api.Unavailable, Reason: "store_unwritable",
			Message: "the bridge cannot store what it is about to do, so it did nothing",
			Hint:    "ask a human to look at the disk of the bridge", Err: err,
		}
		i.State, i.Error = intentFailed, unstored
		_, _ = b.desk.audit.append(i.outcomeLine())
		return nil, unstored
	}
	defer b.reads.forget(c.resource(), i.Write.Number) // even if it failed: the failure may be the news
	i.Written, err = b.ask(ctx, c, i)
	i.Behind = max(i.Behind, c.forge.guard.Behind())
	if !c.forge.signsAs(context.WithoutCancel(ctx), i.Signer) {
		i.Signer = "" // it may have been either
	}
	switch {
	case err == nil:
		i.State = intentDone
		b.record(i)
	case mayBeDone(err):
		b.log.Warn("a write's outcome is unclear", "request", c.id, "cause", MaskCredentials(fmt.Sprint(errors.Unwrap(err))))
		b.look(ctx, c.forge, c.repo, i, 2)
	default:
		i.State, i.Error = intentFailed, asError(err)
		b.record(i)
		return nil, i.Error
	}
	if i.State != intentDone {
		return nil, unknownOutcome(i)
	}
	return encode(i.Written)
}

// ask calls the provider, and makes OutcomeUnknown of whatever leaves doubt.
func (b *Broker) ask(ctx context.Context, c *order, i *intent) (*api.Written, error) {
	ctx, cancel := context.WithTimeout(WithWrite(ctx), forgeTime)
	defer cancel()
	written, err := guarded(b, c.Op, func() (*api.Written, error) { return c.forge.provider.Write(ctx, c.repo, i.Write) })
	if err == nil && written != nil {
		clean := *written
		clean.URL, clean.State, clean.Note = CleanText(clean.URL), CleanText(clean.State), CleanText(clean.Note)
		clean.DuplicateOf = ""
		return &clean, nil
	}
	var e *api.Error
	if err == nil || !errors.As(err, &e) || e.Code == api.Internal || MayBeDone(ctx) {
		return nil, &api.Error{Code: api.OutcomeUnknown, Message: "the forge's answer was lost", Err: err}
	}
	return nil, err
}

func mayBeDone(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == api.OutcomeUnknown
}

// record stores what became of i. Where the disk refuses it, the intent stays as it was, and the
// next process looks.
func (b *Broker) record(i *intent) {
	head, err := b.desk.audit.append(i.outcomeLine())
	b.keep(i, head, err)
}

// keep stores i, with how far the audit has come and whether i is in it.
func (b *Broker) keep(i *intent, head auditHead, err error) {
	if err != nil {
		b.log.Error("an outcome isn't in the audit", "request", i.RequestID, "cause", err.Error())
	}
	if err := b.desk.store.decide(i, head); err != nil {
		b.log.Error("an outcome isn't stored", "request", i.RequestID, "cause", err.Error())
	}
}

// head asks which commit a review is of.
func (b *Broker) head(ctx context.Context, c *order) (string, error) {
	ctx, cancel := context.WithTimeout(withReserve(ctx), headTime)
	defer cancel()
	sha, err := guarded(b, c.Op, func() (string, error) { return c.forge.provider.Head(ctx, c.repo, c.Number) })
	if err == nil && !isSHA(sha) {
		err = internal(errors.New("the provider gave no commit as a pull's head"))
	}
	return sha, err
}

func busy(err error) error {
	return &api.Error{
		Code: api.Unavailable, Reason: reasonBusy, Message: "the same call is still under way",
		Hint: "wait a minute, then look whether it was posted", Err: err,
	}
}

// unknownOutcome says what an agent can do about a write that may or may not have been done.
func unknownOutcome(i *intent) error {
	what, tool := "comment", "repo_issue_view"
	if i.Write.Kind != IssueComment {
		tool = "repo_pr_view"
	}
	if i.Write.Kind == PullReview {
		what = "review"
	}
	wait := int((settleTime - time.Since(i.StartedAt)) / time.Second)
	return &api.Error{
		Code: api.OutcomeUnknown, Reason: "write_outcome_unknown", RetryAfterSeconds: max(wait, 0),
		Message: fmt.Sprintf("the connection to the forge broke after the %s on %d was sent: it may have been posted, though the bridge does not find it", what, i.Write.Number),
		Hint: fmt.Sprintf("look with %s number %d whether it is there; if it isn't, call again with exactly the same text: the bridge looks once more before it posts",
			tool, i.Write.Number),
	}
}

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

func (i *intent) contentHash() string {
	return hashOf(i.Ship, i.Repo, i.Path, i.Workspace, i.Op, fmt.Sprint(i.Write.Number), i.Write.Event, i.Write.Head, i.Write.Body)
}

// hashOf keeps its parts apart.
func hashOf(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
