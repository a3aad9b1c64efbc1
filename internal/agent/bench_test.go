package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"fleet/api"
	"fleet/internal/atlas"
)

// noSessions is a Store that costs nothing; the real one is a call of tmux.
type noSessions struct{}

func (noSessions) SaveAgent(context.Context, atlas.ID, string) error { return nil }

// BenchmarkReport is agent_status with its event on the disk. Beyond what one workspace may log
// in a while the answer is a refusal, so a fresh one goes on.
func BenchmarkReport(b *testing.B) {
	log, err := OpenLog(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	book := NewBook(noSessions{}, log, nil)
	begin := func() {
		book.Drop(alpha)
		if _, err := book.Init(b.Context(), alpha, "claude-opus-4", "anthropic", "claude-code"); err != nil {
			b.Fatal(err)
		}
	}
	begin()
	b.ReportAllocs()
	for b.Loop() {
		_, err := book.Report(b.Context(), alpha, api.Building, "writing the parser for the envelope")
		var refused *api.Error
		if errors.As(err, &refused) && refused.Code == api.RateLimited {
			begin()
		} else if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecord is a status on its way into a session's option and back.
func BenchmarkRecord(b *testing.B) {
	status := &api.AgentStatus{
		Repo: alpha.Repo, Workspace: alpha.Name, SessionID: "0198c0de-0000-7000-8000-000000000000", Model: "claude-opus-4",
		Provider: "anthropic", Harness: "claude-code", State: api.Building, Description: "writing the parser for the envelope, it's \"half\" done",
		StartedAt: time.Unix(1_790_000_000, 0).UTC(), UpdatedAt: time.Unix(1_790_000_100, 0).UTC(),
	}
	b.ReportAllocs()
	for b.Loop() {
		if back, err := decode(alpha, encode(status)); err != nil || back.Description != status.Description {
			b.Fatal(back, err)
		}
	}
}
