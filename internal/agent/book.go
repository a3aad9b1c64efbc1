// Package agent keeps what agents say of themselves, and the log of what happened in a fleet.
// It knows no tmux and no HTTP: where a record survives, and who may write one, is its caller's.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/atlas"
)

// saveTimeout bounds one call of the Store.
const saveTimeout = 10 * time.Second

// ErrInactive is what a Store answers for a workspace whose session is gone.
var ErrInactive = errors.New("the workspace's session is gone")

// Store keeps a workspace's record for exactly as long as its session lives. It answers with
// ErrInactive when there is none. An empty record removes. A record is printable ASCII without
// apostrophes, backquotes, hashes, dollars and semicolons.
type Store interface {
	SaveAgent(ctx context.Context, id atlas.ID, record string) error
}

// Book holds the registered agent of each active workspace. It is safe for concurrent use;
// changes of one workspace happen one after the other.
type Book struct {
	store  Store
	log    Log
	logger *slog.Logger

	mu    sync.RWMutex
	pages map[atlas.ID]*page
}

type page struct {
	writing chan struct{}    // holds one: over store, log and memory together
	budget  budget           // under writing
	status  *api.AgentStatus // under Book.mu
}

// NewBook starts with no agents; Restore fills in those of adopted sessions. A nil logger
// discards.
func NewBook(store Store, log Log, logger *slog.Logger) *Book {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Book{store: store, log: log, logger: logger, pages: map[atlas.ID]*page{}}
}

// Init registers an agent, in place of any that was registered, with state idle and no
// description. It fails with Invalid for unfit strings, with Conflict where the session is gone,
// with RateLimited where the workspace's events would push out those of others, and with
// Unavailable where session or event log cannot take the record; nothing has changed
// then. Once the change has begun it is done whatever becomes of ctx.
func (b *Book) Init(ctx context.Context, id atlas.ID, model, provider, harness string) (*api.AgentStatus, error) {
	if err := cleanNames(&model, &provider, &harness); err != nil {
		return nil, err
	}
	session, err := uuid.NewV7()
	if err != nil {
		return nil, &api.Error{Code: api.Internal, Message: "no random numbers to be had", Err: err}
	}
	now := time.Now().UTC()
	next := &api.AgentStatus{
		Repo: id.Repo, Workspace: id.Name, SessionID: session.String(),
		Model: model, Provider: provider, Harness: harness,
		State: api.Idle, StartedAt: now, UpdatedAt: now,
	}
	return b.change(ctx, id, func(old *api.AgentStatus) (*api.AgentStatus, api.Event, error) {
		return next, api.Event{Type: api.AgentInitialized, Agent: next, Replaced: old}, nil
	})
}

// Report changes state and description and keeps the rest. It fails with Conflict before
// Init, and otherwise as Init does.
func (b *Book) Report(ctx context.Context, id atlas.ID, state api.State, description string) (*api.AgentStatus, error) {
	if err := checkState(state); err != nil {
		return nil, err
	}
	if err := cleanDescription(&description); err != nil {
		return nil, err
	}
	return b.change(ctx, id, func(old *api.AgentStatus) (*api.AgentStatus, api.Event, error) {
		if old == nil {
			return nil, api.Event{}, unregistered()
		}
		next := *old
		next.State, next.Description, next.UpdatedAt = state, description, time.Now().UTC()
		return &next, api.Event{Type: api.AgentReported, Agent: &next}, nil
	})
}

// Get gives the registered agent's status, or nil. The caller must not change it.
func (b *Book) Get(id atlas.ID) *api.AgentStatus {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if p := b.pages[id]; p != nil {
		return p.status
	}
	return nil
}

// Restore takes a record that an earlier ship left in id's session, for adoption.
func (b *Book) Restore(id atlas.ID, record string) error {
	status, err := decode(id, record)
	if err != nil {
		return err
	}
	b.set(id, b.page(id), status)
	return nil
}

// Drop forgets id's agent: its session ended.
func (b *Book) Drop(id atlas.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, id)
}

func (b *Book) page(id atlas.ID) *page {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pages[id]
	if p == nil {
		p = &page{writing: make(chan struct{}, 1)}
		b.pages[id] = p
	}
	return p
}

// set reports false where p is no longer id's page, since its session ended.
func (b *Book) set(id atlas.ID, p *page, s *api.AgentStatus) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pages[id] != p {
		return false
	}
	p.status = s
	return true
}

func (b *Book) save(ctx context.Context, id atlas.ID, s *api.AgentStatus) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return b.store.SaveAgent(ctx, id, encode(s))
}

// change writes session, then event log, then memory. A crash between the first two leaves the
// agent without an answer and with its newer status, which it will report again; an event that
// cannot be written takes the session's record back, so that nothing has changed.
func (b *Book) change(ctx context.Context, id atlas.ID, decide func(old *api.AgentStatus) (*api.AgentStatus, api.Event, error)) (*api.AgentStatus, error) {
	p := b.page(id)
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return nil, busy(ctx.Err())
	}
	old := b.Get(id)
	next, event, err := decide(old)
	if err != nil {
		return nil, err
	}
	event.Repo, event.Workspace = id.Repo, id.Name
	if err := p.budget.take(event, time.Now()); err != nil {
		return nil, err
	}
	if err := b.save(ctx, id, next); err != nil {
		return nil, unsaved(id, err)
	}
	if err := b.log.Append(event); err != nil {
		b.takeBack(ctx, id, old)
		return nil, unlogged(err)
	}
	if !b.set(id, p, next) {
		b.disown(ctx, id)
		return nil, unsaved(id, ErrInactive)
	}
	return next, nil
}

func (b *Book) takeBack(ctx context.Context, id atlas.ID, old *api.AgentStatus) {
	if err := b.save(ctx, id, old); err != nil {
		b.logger.Error("take back an agent's record", "repo", id.Repo, "workspace", id.Name, "err", err)
	}
}

// disown is for a session that ended, and perhaps gave way to a new one, while its agent's record
// was on the way: the new one must not keep the record of the old one's agent.
func (b *Book) disown(ctx context.Context, id atlas.ID) {
	p := b.page(id)
	p.writing <- struct{}{}
	defer func() { <-p.writing }()
	err := b.save(ctx, id, b.Get(id))
	if err != nil && !errors.Is(err, ErrInactive) {
		b.logger.Error("clear an ended session's record", "repo", id.Repo, "workspace", id.Name, "err", err)
	}
}
