package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"fleet/api"
)

// reasonCancelled is of a read whose caller did not wait for the answer.
const reasonCancelled = "cancelled"

// anonymous is the id of the credential that is none.
const anonymous = "anonymous"

// order is one request on its way.
type order struct {
	Request
	id     string // of the request
	ship   Secret
	grant  grant
	repo   Repo
	policy Policy
	forge  *forge
	signed string // id of the forge's credential
	signer string // see Guard.Signer: what one token sees, another one may not
}

// ending refuses whoever comes once the bridge was told to end.
func ending() *api.Error {
	return &api.Error{
		Code: api.Unavailable, Reason: reasonEnding, Message: "the bridge is about to end; nothing was done",
		Hint: "try again in a minute", RetryAfterSeconds: 10,
	}
}

// do answers one request of the ship that holds the credential. Every error is an *api.Error.
func (b *Broker) do(ctx context.Context, ship Secret, r Request, id string) (answer json.RawMessage, err error) {
	if !b.begin() {
		return nil, ending()
	}
	defer b.work.Done()
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("a request panicked", "request", id, "op", r.Op, "panic", b.forges.mask(fmt.Sprint(p)), "stack", string(debug.Stack()))
			answer, err = nil, internal(fmt.Errorf("panic: %v", p))
		}
	}()
	c := &order{Request: r, id: id, ship: ship}
	answer, err = b.answer(ctx, c)
	if err != nil {
		e := b.advise(c, asError(err))
		b.note(c, e)
		return nil, e
	}
	return answer, nil
}

func (b *Broker) answer(ctx context.Context, c *order) (json.RawMessage, error) {
	if err := b.admit(ctx, c); err != nil {
		return nil, b.refused(c, err)
	}
	if !c.writes() {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		answer, err := b.read(ctx, c)
		if err == nil {
			err = b.sameRepository(ctx, c)
		}
		if err == nil {
			err = b.allowed(c) // it may have taken a while
		}
		if err == nil {
			err = b.samePolicy(c)
		}
		return answer, err
	}
	// A write, once begun, runs to its record, whatever becomes of who asked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	stop := context.AfterFunc(b.life, cancel)
	defer stop()
	return b.write(ctx, c)
}

// admit finds out who asks, whether he may, and what of.
func (b *Broker) admit(ctx context.Context, c *order) error {
	if err := b.allowed(c); err != nil {
		return err
	}
	registered, ok := b.config.Registry()[c.Repo]
	if !ok {
		return noRepo(c.Repo)
	}
	if err := c.check(); err != nil {
		return err
	}
	var err error
	if c.repo, err = registered.repo(c.Repo); err != nil {
		return err
	}
	c.policy = registered.Policy
	if c.forge, err = b.forges.at(registered.Forge, c.repo.APIURL); err != nil {
		return err
	}
	b.forges.learnSecrets()
	if c.writes() && c.showsLive() {
		return heldCredential("a credential that the bridge uses")
	}
	if c.signer, err = c.forge.guard.Signer(ctx); err != nil {
		return err
	}
	c.signed = c.forge.credential.ID()
	if c.signed == anonymous {
		return c.unsigned(ctx, registered.Forge)
	}
	return nil
}

// showsLive says that the body has in it what the bridge signs with, whatever its shape, or what the
// ship itself is known by.
func (c *order) showsLive() bool {
	own := signedWith{}
	own.add(c.ship)
	return c.forge.guard.Mask(c.Body) != c.Body || own.mask(c.Body) != c.Body
}

// unsigned says why the forge can't be asked without a credential, or nil: what is public at a
// well-known host may be read.
func (c *order) unsigned(ctx context.Context, forge string) error {
	if _, err := c.forge.credential.Authorization(ctx); err != nil {
		return err // there is one, and it can't be used
	}
	host := credentialHost(c.repo.APIURL)
	if !c.writes() && host == wellKnown(forge) {
		return nil
	}
	return &api.Error{
		Code: api.Unavailable, Reason: reasonNoCredential,
		Message: "the bridge has no credential for " + host,
		Hint:    "ask a human to run: ship credential add " + host,
	}
}

// allowed says whether the ship may do this now.
func (b *Broker) allowed(c *order) error {
	g, err := b.desk.grants.find(c.ship)
	if err != nil {
		return err
	}
	c.grant = g
	verb := c.verb()
	if verb == "" {
		return &api.Error{Code: api.Unsupported, Reason: "unknown_op", Message: "the bridge knows no such operation", Hint: "ship and bridge are of different versions: ask a human to update them"}
	}
	return g.allow(c.Repo, verb)
}

// note logs a failure whose cause isn't in its text.
func (b *Broker) note(c *order, err error) {
	var e *api.Error
	if !errors.As(err, &e) || e.Err == nil && e.Code != api.Internal {
		return
	}
	level := slog.LevelWarn
	switch {
	case e.Reason == reasonCancelled: // who asked has gone
		level = slog.LevelDebug
	case e.Code == api.NotFound, e.Code == api.Invalid:
		level = slog.LevelInfo
	}
	b.log.Log(context.Background(), level, "a request failed", "request", c.id, "op", c.Op, "code", string(e.Code), "reason", e.Reason, "cause", b.forges.mask(fmt.Sprint(e.Err)))
}

// asError makes every error one for the wire: what isn't an *api.Error is a fault of ours.
func asError(err error) *api.Error {
	var e *api.Error
	if !errors.As(err, &e) {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return &api.Error{Code: api.Unavailable, Reason: "timeout", Message: "the forge did not answer in time", Hint: "try again in a minute", Err: err}
		case errors.Is(err, context.Canceled):
			return &api.Error{Code: api.Unavailable, Reason: reasonCancelled, Message: "the request was called off before it was answered", Hint: "try again", Err: err}
		}
		return internal(err)
	}
	clean := *e
	clean.Message, clean.Hint = cleanMessage(e.Message), cleanMessage(e.Hint)
	return &clean
}

// cleanMessage is for text that may quote a forge.
func cleanMessage(s string) string { return MaskCredentials(CleanText(s)) }

// guarded calls a provider, and makes an error of a panic.
func guarded[T any](b *Broker, op string, ask func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("a provider panicked", "op", op, "panic", b.forges.mask(fmt.Sprint(p)), "stack", string(debug.Stack()))
			err = internal(fmt.Errorf("panic: %v", p))
		}
	}()
	return ask()
}

// encode writes v as JSON in which the text of others stays readable: <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, internal(fmt.Errorf("encode an answer: %w", err))
	}
	return slices.Clip(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}
