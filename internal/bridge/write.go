package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fleet/api"
)

const (
	// duplicateTime is for how long the same words are taken for the same wish.
	duplicateTime = 10 * time.Minute
	// settleTime is after what time a write that was sent, and isn't there, won't come any more.
	settleTime = time.Minute
)

// write does c once. Whoever comes with the same key, or the same content from the same workspace,
// while it is under way waits for it and gets its outcome.
func (b *Broker) write(ctx context.Context, c *order) (json.RawMessage, error) {
	i := c.intent()
	i.Began = b.desk.store.now()
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
	if err := c.policy.checkBody(c.Body); err != nil {
		return nil, b.refused(c, err)
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
	leave, err := b.takeContent(ctx, i)
	if err != nil {
		return nil, b.refused(c, busy(err))
	}
	defer leave()
	earlier, err := b.desk.store.intentBy(bucketContents, i.Content)
	if err != nil {
		return nil, internal(err)
	}
	if err := b.desk.store.notice(earlier); err != nil {
		return nil, internal(err)
	}
	if earlier != nil && (earlier.undecided() || b.recent(earlier, i.Path)) {
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

// recent says that i, which was posted to the repository at path, stands for the same words there.
func (b *Broker) recent(i *intent, path string) bool {
	return i.State == intentDone && i.Path == path && b.desk.store.age(i) < duplicateTime
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
		leave, err := b.takeContent(ctx, earlier)
		if err != nil {
			return nil, busy(err)
		}
		defer leave()
		if earlier, err = b.desk.store.intentBy(bucketKeys, i.KeyHash); err != nil || earlier == nil {
			return nil, internal(errors.Join(err, errors.New("an intent is gone")))
		}
		if earlier.undecided() && earlier.Path == i.Path {
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
	return nil, b.unknownOutcome(ctx, c, earlier)
}

// sameWords answers what another call from the same workspace asked for just now, word for word.
// It is not decided where that one was lost for certain, so that this one may be sent.
func (b *Broker) sameWords(ctx context.Context, c *order, i, earlier *intent) (answer json.RawMessage, decided bool, err error) {
	if earlier.undecided() && earlier.Path == i.Path {
		absent := b.look(ctx, c.forge, c.repo, earlier, 1)
		if absent && b.desk.store.age(earlier) >= settleTime {
			return nil, false, nil
		}
	}
	if earlier.State != intentDone {
		return nil, true, b.unknownOutcome(ctx, c, earlier)
	}
	if err := b.desk.store.alias(i, earlier.ID); err != nil {
		return nil, true, internal(err)
	}
	line := i.auditLine(auditDuplicate)
	line.URL = earlier.Written.URL
	if err := b.desk.add(line); err != nil {
		b.log.Error("a duplicate isn't in the audit", "request", c.id, "cause", err.Error())
	}
	answer, err = encode(earlier.duplicate())
	return answer, true, err
}
