package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleet/api"
)

const (
	// headTime bounds what it may take to find out which commit a review is of.
	headTime = 10 * time.Second
	// maxAddress bounds, in bytes, where a forge says that something was posted.
	maxAddress = 2 << 10
)

// send posts i, once. Before it does, audit and intent are on the disk.
func (b *Broker) send(ctx context.Context, c *order, i *intent) (json.RawMessage, error) {
	var err error
	if i.Signer, err = c.forge.guard.Signer(ctx); err != nil {
		return nil, b.refused(c, err)
	}
	if err := b.askTime(ctx, c); err != nil {
		return nil, b.refused(c, err)
	}
	i.measure(c.forge.guard)
	head, err := b.desk.audit.append(i.auditLine(auditWrite))
	if err != nil {
		return nil, auditUnwritable(err)
	}
	if err := b.desk.store.begin(i, head); err != nil {
		i.State, i.Error = intentFailed, storeUnwritable(err)
		_ = b.desk.add(i.outcomeLine())
		return nil, i.Error
	}
	defer b.reads.forget(c.resource(), i.Write.Number) // even if it failed: the failure may be the news
	return b.post(ctx, c, i)
}

// post asks the forge, and records what came of it.
func (b *Broker) post(ctx context.Context, c *order, i *intent) (json.RawMessage, error) {
	var err error
	i.Written, err = b.ask(ctx, c, i)
	i.measure(c.forge.guard)
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
		if i.measure(c.forge.guard); i.undecided() { // the look may have been the first to be answered
			b.restate(i)
		}
	default:
		i.State, i.Error = intentFailed, asError(err)
		b.record(i)
		return nil, i.Error
	}
	if i.State != intentDone {
		return nil, b.unknownOutcome(ctx, c, i)
	}
	return encode(i.Written)
}

// ask calls the provider, and makes OutcomeUnknown of whatever leaves doubt.
func (b *Broker) ask(ctx context.Context, c *order, i *intent) (*api.Written, error) {
	ctx, cancel := context.WithTimeout(WithWrite(ctx), forgeTime)
	defer cancel()
	written, err := guarded(b, c.Op, func() (*api.Written, error) { return c.forge.provider.Write(ctx, c.repo, i.Write) })
	if err == nil {
		written, err = posted(written)
	}
	if err == nil {
		return written, nil
	}
	var e *api.Error
	if !errors.As(err, &e) || e.Code == api.Internal || unclear(ctx) {
		return nil, &api.Error{Code: api.OutcomeUnknown, Message: "the forge's answer was lost", Err: err}
	}
	return nil, err
}

// askTime lets the forge say what time it has, where it has not yet: without that, nobody can
// tell after a crash what is there from before the write. Of what else comes of it, only a limit
// counts, since it would stop the write too; the write itself will tell the rest better.
func (b *Broker) askTime(ctx context.Context, c *order) error {
	if c.forge.guard.knowsClock() {
		return nil
	}
	ctx, cancel := context.WithTimeout(withReserve(ctx), headTime)
	defer cancel()
	_, err := guarded(b, c.Op, func() (*api.RepoInfo, error) { return c.forge.provider.Info(ctx, c.repo) })
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.RateLimited {
		return err
	}
	return nil
}

// measure notes how far the forge's clock is behind ours, while i is sent.
func (i *intent) measure(g *Guard) {
	i.Behind, i.ClockKnown = max(i.Behind, g.behind()), g.knowsClock()
}

// restate stores what else is known of i, whose outcome the audit has.
func (b *Broker) restate(i *intent) {
	if err := b.desk.store.decide(i, auditHead{}); err != nil {
		b.log.Error("an outcome isn't stored", "request", i.RequestID, "cause", err.Error())
	}
}

// posted is a provider's word that something lies on the forge, or why it isn't one: without number
// and address nobody knows what was posted, and an address without end fits into no audit.
func posted(w *api.Written) (*api.Written, error) {
	if w == nil || w.ID == 0 || w.URL == "" || len(w.URL) > maxAddress {
		return nil, errors.New("the provider's answer names nothing that was posted")
	}
	clean := *w
	clean.URL, clean.State, clean.Note = CleanText(w.URL), CleanText(w.State), CleanText(w.Note)
	clean.DuplicateOf = ""
	return &clean, nil
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

func storeUnwritable(err error) *api.Error {
	return &api.Error{
		Code: api.Unavailable, Reason: "store_unwritable",
		Message: "the bridge cannot store what it is about to do, so it did nothing",
		Hint:    "ask a human to look at the disk of the bridge", Err: err,
	}
}
