package agent

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

var (
	alpha = atlas.ID{Repo: "r", Name: "alpha"}
	beta  = atlas.ID{Repo: "r", Name: "é b"}
)

// memory is a Store of sessions and a Log of events, each of which can be told to fail.
type memory struct {
	mu       sync.Mutex
	sessions map[atlas.ID]string
	events   []api.Event
	saveErr  error
	logErr   error
	onSave   func(ctx context.Context, id atlas.ID) // before anything is stored
	onAppend func()
}

func (m *memory) SaveAgent(ctx context.Context, id atlas.ID, record string) error {
	if m.onSave != nil {
		m.onSave(ctx, id)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, active := m.sessions[id]; !active {
		return fmt.Errorf("save: %w", ErrInactive)
	}
	if m.saveErr != nil {
		return m.saveErr
	}
	m.sessions[id] = record
	return nil
}

func (m *memory) Append(e api.Event) error {
	if m.onAppend != nil {
		m.onAppend()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logErr != nil {
		return m.logErr
	}
	m.events = append(m.events, e)
	return nil
}

// newFleet is a Book over two active workspaces.
func newFleet(t *testing.T) (*Book, *memory) {
	t.Helper()
	m := &memory{sessions: map[atlas.ID]string{alpha: "", beta: ""}}
	return NewBook(m, m, nil), m
}

func register(t *testing.T, b *Book, id atlas.ID) *api.AgentStatus {
	t.Helper()
	s, err := b.Init(t.Context(), id, "opus", "anthropic", "claude-code")
	if err != nil {
		t.Fatalf("Init = %v", err)
	}
	return s
}

func TestInitRegistersAnIdleAgent(t *testing.T) {
	b, m := newFleet(t)
	if got := b.Get(alpha); got != nil {
		t.Errorf("Get before Init = %+v, want nil", got)
	}
	before := time.Now()
	s, err := b.Init(t.Context(), alpha, " opus ", "anthropic\n", "claude-code")
	if err != nil {
		t.Fatal(err)
	}
	want := &api.AgentStatus{
		Repo: "r", Workspace: "alpha", SessionID: s.SessionID, Model: "opus", Provider: "anthropic", Harness: "claude-code",
		State: api.Idle, StartedAt: s.StartedAt, UpdatedAt: s.StartedAt,
	}
	if !reflect.DeepEqual(s, want) || len(s.SessionID) != 36 || s.StartedAt.Before(before) || s.StartedAt.Location() != time.UTC {
		t.Errorf("Init = %+v, want %+v with a fresh session_id and the time in UTC", s, want)
	}
	if got := b.Get(alpha); got != s {
		t.Errorf("Get = %+v, want what Init answered", got)
	}
	if got := b.Get(beta); got != nil {
		t.Errorf("Get of a neighbour = %+v, want nil", got)
	}
	event := api.Event{Type: api.AgentInitialized, Repo: "r", Workspace: "alpha", Agent: s}
	if len(m.events) != 1 || !reflect.DeepEqual(m.events[0], event) {
		t.Errorf("events = %+v, want %+v", m.events, event)
	}
}

func TestReportKeepsWhoTheAgentIs(t *testing.T) {
	b, m := newFleet(t)
	first := register(t, b, alpha)
	for _, state := range api.States() {
		s, err := b.Report(t.Context(), alpha, state, "  reading `it's` $HOME #{x} é\u202e ")
		if err != nil {
			t.Fatalf("Report(%s) = %v", state, err)
		}
		want := *first
		want.State, want.Description, want.UpdatedAt = state, "reading `it's` $HOME #{x} é\u202e", s.UpdatedAt
		if !reflect.DeepEqual(*s, want) || s.UpdatedAt.Before(first.UpdatedAt) {
			t.Errorf("Report(%s) = %+v, want %+v", state, s, want)
		}
		last := m.events[len(m.events)-1]
		if !reflect.DeepEqual(last, api.Event{Type: api.AgentReported, Repo: "r", Workspace: "alpha", Agent: s}) {
			t.Errorf("event = %+v, want the new status", last)
		}
	}
	if first.State != api.Idle || first.Description != "" {
		t.Errorf("Report changed the status that Init had answered: %+v", first)
	}
}

func TestASecondInitNamesTheAgentThatItReplaces(t *testing.T) {
	b, m := newFleet(t)
	first := register(t, b, alpha)
	second, err := b.Init(t.Context(), alpha, "gpt", "openai", "codex")
	if err != nil {
		t.Fatal(err)
	}
	if second.SessionID == first.SessionID || b.Get(alpha) != second {
		t.Errorf("Get = %+v, want the second agent, with a session of its own", b.Get(alpha))
	}
	if last := m.events[1]; last.Replaced != first || last.Agent != second {
		t.Errorf("event = %+v, want that %+v replaced %+v", last, second, first)
	}
}

func TestTheEventIsWrittenBeforeTheStatusIsSeen(t *testing.T) {
	b, m := newFleet(t)
	before := register(t, b, alpha)
	var stored, seen any
	m.onAppend = func() { stored, seen = m.sessions[alpha], b.Get(alpha) }
	after, err := b.Report(t.Context(), alpha, api.Building, "x")
	if err != nil {
		t.Fatal(err)
	}
	if stored != encode(after) || seen != before {
		t.Errorf("while the event was written the session had %v and Get gave %v; want the new record and the old status", stored, seen)
	}
}

func TestRestoreGivesBackWhatASessionHolds(t *testing.T) {
	b, m := newFleet(t)
	register(t, b, beta)
	if _, err := b.Report(t.Context(), beta, api.Awaiting, "may I push?"); err != nil {
		t.Fatal(err)
	}
	next := NewBook(m, m, nil)
	if err := next.Restore(beta, m.sessions[beta]); err != nil {
		t.Fatal(err)
	}
	if got, want := encode(next.Get(beta)), encode(b.Get(beta)); got != want {
		t.Errorf("after a restart Get = %s, want %s", got, want)
	}
	if s, err := next.Report(t.Context(), beta, api.Building, "pushed"); err != nil || s.SessionID != b.Get(beta).SessionID {
		t.Errorf("Report after a restart = %+v, %v; want the same agent", s, err)
	}
}

func TestRestoreRefusesWhatNoBookWrote(t *testing.T) {
	b, m := newFleet(t)
	record := encode(register(t, b, alpha))
	_ = m
	change := func(old, replacement string) string {
		if !strings.Contains(record, old) {
			t.Fatalf("the record %s does not hold %s", record, old)
		}
		return strings.Replace(record, old, replacement, 1)
	}
	cases := map[string]string{
		"nothing":             "",
		"not JSON":            "building",
		"half of it":          record[:len(record)/2],
		"a neighbour's":       change(`"workspace":"alpha"`, `"workspace":"beta"`),
		"an unknown state":    change(`"state":"idle"`, `"state":"sleeping"`),
		"no model":            change(`"model":"opus"`, `"model":""`),
		"a control character": change(`"harness":"claude-code"`, `"harness":"a\u001bb"`),
		"a long description":  change(`"description":""`, `"description":"`+strings.Repeat("x", 1001)+`"`),
		"no session_id":       change(`"session_id":"`, `"session_id":"x`),
		"no time":             change(`"started_at"`, `"started"`),
		"far too long":        record + strings.Repeat(" ", maxRecordBytes),
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b, _ := newFleet(t)
			if err := b.Restore(alpha, c); err == nil || b.Get(alpha) != nil {
				t.Errorf("Restore(%.80q) = %v with status %+v, want an error and none", c, err, b.Get(alpha))
			}
		})
	}
}

func TestDropForgetsOneAgent(t *testing.T) {
	b, _ := newFleet(t)
	register(t, b, alpha)
	kept := register(t, b, beta)
	b.Drop(alpha)
	if b.Get(alpha) != nil || b.Get(beta) != kept {
		t.Errorf("after Drop(alpha): %+v and %+v, want nil and beta's", b.Get(alpha), b.Get(beta))
	}
	_, err := b.Report(t.Context(), alpha, api.Idle, "x")
	expectError(t, err, api.Conflict, "agent_init")
}

// A session that ends while a report is on its way, and begins anew, is not given the old agent.
func TestAReportThatOutlivesItsSessionIsNotTheNextOnes(t *testing.T) {
	b, m := newFleet(t)
	register(t, b, alpha)
	m.onAppend = func() {
		m.onAppend = nil
		b.Drop(alpha)
	}
	_, err := b.Report(t.Context(), alpha, api.Building, "x")
	expectError(t, err, api.Conflict, "not active")
	if b.Get(alpha) != nil || m.sessions[alpha] != "" {
		t.Errorf("the new session has status %+v and record %q, want neither", b.Get(alpha), m.sessions[alpha])
	}
}

func TestAReportThatOutlivesItsSessionLeavesTheNextAgentAlone(t *testing.T) {
	b, m := newFleet(t)
	register(t, b, alpha)
	var next *api.AgentStatus
	m.onAppend = func() {
		m.onAppend = nil
		b.Drop(alpha)
		next = register(t, b, alpha)
	}
	_, err := b.Report(t.Context(), alpha, api.Building, "x")
	expectError(t, err, api.Conflict, "not active")
	if b.Get(alpha) != next || m.sessions[alpha] != encode(next) {
		t.Errorf("the new session has status %+v and record %q, want those of its own agent %+v", b.Get(alpha), m.sessions[alpha], next)
	}
}

func TestAChangeThatBeganIsDoneWhateverBecomesOfTheCall(t *testing.T) {
	b, m := newFleet(t)
	ctx, cancel := context.WithCancel(t.Context())
	var inside error
	m.onSave = func(ctx context.Context, _ atlas.ID) {
		cancel()
		inside = ctx.Err()
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the store was called without a deadline")
		}
	}
	s, err := b.Init(ctx, alpha, "m", "p", "h")
	if err != nil || inside != nil || b.Get(alpha) != s || len(m.events) != 1 {
		t.Errorf("Init of a cancelled call = %v, with %v in the store, status %+v, events %v; want it done", err, inside, b.Get(alpha), m.events)
	}
}

func TestASlowSessionHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newFleet(t)
		release := make(chan struct{})
		m.onSave = func(_ context.Context, id atlas.ID) {
			if id == alpha {
				<-release
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := b.Init(t.Context(), alpha, "m", "p", "h")
			done <- err
		}()
		synctest.Wait() // alpha's store hangs
		if got := b.Get(alpha); got != nil {
			t.Errorf("Get of the slow one = %+v, want nil", got)
		}
		register(t, b, beta)
		if b.Get(beta) == nil {
			t.Error("Get of the other one = nil")
		}
		// Whoever waits behind the slow one gives up with its call.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.Init(ctx, alpha, "m", "p", "h")
		expectError(t, err, api.Unavailable, "nothing was changed")
		close(release)
		if err := <-done; err != nil {
			t.Errorf("the slow Init = %v", err)
		}
	})
}

func TestConcurrentChangesComeOneAfterTheOther(t *testing.T) {
	b, m := newFleet(t)
	register(t, b, alpha)
	register(t, b, beta)
	var wg sync.WaitGroup
	for i := range 50 {
		for _, id := range []atlas.ID{alpha, beta} {
			wg.Go(func() {
				if _, err := b.Report(t.Context(), id, api.Building, fmt.Sprint(i)); err != nil {
					t.Errorf("Report = %v", err)
				}
				_ = b.Get(id)
			})
		}
	}
	wg.Wait()
	if len(m.events) != 102 {
		t.Errorf("%d events, want 102", len(m.events))
	}
	for _, id := range []atlas.ID{alpha, beta} {
		var last *api.AgentStatus
		for _, e := range m.events {
			if e.Workspace == id.Name {
				last = e.Agent
			}
		}
		if b.Get(id) != last || m.sessions[id] != encode(last) {
			t.Errorf("%v: status %+v and record %s, want those of the last event %+v", id, b.Get(id), m.sessions[id], last)
		}
	}
}
