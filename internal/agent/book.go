// Package agent keeps what agents say of themselves, and the log of what happened in a fleet.
// It knows no tmux and no HTTP: where a record survives, and who may write one, is its caller's.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/atlas"
)

// ErrInactive is what a Store answers for a workspace whose session is gone.
var ErrInactive = errors.New("the workspace's session is gone")

// Store keeps a workspace's record for exactly as long as its session lives. It answers with
// ErrInactive when there is none. An empty record removes.
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
	writing sync.Mutex // over store, log and memory together
	status  *api.AgentStatus
}

// NewBook starts with no agents; Restore fills in those of adopted sessions.
func NewBook(store Store, log Log, logger *slog.Logger) *Book {
	return &Book{store: store, log: log, logger: logger, pages: map[atlas.ID]*page{}}
}

// Init registers an agent, in place of any that was registered, with state idle and no
// description. It fails with Invalid for unfit strings and Unavailable where session or event
// log cannot take the record; nothing has changed then.
func (b *Book) Init(ctx context.Context, id atlas.ID, model, provider, harness string) (*api.AgentStatus, error) {
	fields := []*string{&model, &provider, &harness}
	for i, name := range []string{"model", "provider", "harness"} {
		if err := clean(name, fields[i], maxNameBytes, maxNameBytes); err != nil {
			return nil, err
		}
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
	if err := clean("description", &description, maxDescriptionChars, 4*maxDescriptionChars); err != nil {
		return nil, err
	}
	return b.change(ctx, id, func(old *api.AgentStatus) (*api.AgentStatus, api.Event, error) {
		if old == nil {
			return nil, api.Event{}, &api.Error{
				Code: api.Conflict, Reason: "not_initialized",
				Message: "no agent is registered in this workspace since its session began",
				Hint:    "call agent_init with your model, provider and harness, then agent_status again",
			}
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
	b.set(b.page(id), status)
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
		p = &page{}
		b.pages[id] = p
	}
	return p
}

func (b *Book) set(p *page, s *api.AgentStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.status = s
}

// change writes session, then event log, then memory. A crash between the first two leaves the
// agent without an answer and with its newer status, which it will report again; an event that
// cannot be written takes the session's record back, so that nothing has changed.
func (b *Book) change(ctx context.Context, id atlas.ID, decide func(old *api.AgentStatus) (*api.AgentStatus, api.Event, error)) (*api.AgentStatus, error) {
	p := b.page(id)
	p.writing.Lock()
	defer p.writing.Unlock()
	old := p.status
	next, event, err := decide(old)
	if err != nil {
		return nil, err
	}
	if err := b.store.SaveAgent(ctx, id, encode(next)); err != nil {
		return nil, b.unsaved(err)
	}
	event.Repo, event.Workspace = id.Repo, id.Name
	if err := b.log.Append(event); err != nil {
		if back := b.store.SaveAgent(context.WithoutCancel(ctx), id, encode(old)); back != nil {
			b.logger.Error("take back an agent's record", "repo", id.Repo, "workspace", id.Name, "err", back)
		}
		return nil, &api.Error{
			Code: api.Unavailable, Reason: "events_unwritable", Message: "the ship cannot write its event log, so nothing was changed",
			Hint: "a person must look at the ship's disk; go on with your work and report again later", Err: err,
		}
	}
	b.set(p, next)
	return next, nil
}

func (b *Book) unsaved(err error) error {
	if errors.Is(err, ErrInactive) {
		return &api.Error{
			Code: api.Conflict, Reason: "inactive", Message: "this workspace is not active",
			Hint: "a person must run: ship activate REPO/NAME", Err: err,
		}
	}
	return &api.Error{
		Code: api.Unavailable, Reason: "session_unwritable", Message: "the ship cannot write to this workspace's session, so nothing was changed",
		Hint: "call again in a few seconds", Err: fmt.Errorf("save the agent's record: %w", err),
	}
}
