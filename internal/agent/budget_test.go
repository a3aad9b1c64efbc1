package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

// reportWhileTaken reports until it is refused, and says how often it was not.
func reportWhileTaken(t *testing.T, b *Book, description string) int {
	t.Helper()
	for n := range 10_000 {
		if _, err := b.Report(t.Context(), alpha, api.Building, description); err != nil {
			e := expectError(t, err, api.RateLimited, "nothing was changed", "each change of phase")
			if e.RetryAfterSeconds != 1 {
				t.Errorf("retry after %d s, want 1", e.RetryAfterSeconds)
			}
			return n
		}
	}
	t.Fatal("10,000 reports at once were taken")
	return 0
}

// 70 reports a second of 1,000 emoji turned all events over in minutes.
func TestOneWorkspaceCannotPushOutTheEventsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newFleet(t)
		register(t, b, alpha)
		long := strings.Repeat("🚢", 1000)
		first := reportWhileTaken(t, b, long)
		if first < 200 {
			t.Errorf("%d long reports were taken at once, want 200 and more", first)
		}
		kept, record := b.Get(alpha), m.sessions[alpha]
		reportWhileTaken(t, b, long)
		if b.Get(alpha) != kept || m.sessions[alpha] != record {
			t.Errorf("a refused report changed the status to %+v and the record to %q", b.Get(alpha), m.sessions[alpha])
		}
		taken := first
		for range 60 {
			time.Sleep(time.Second)
			taken += reportWhileTaken(t, b, long)
		}
		bytes := 0
		for _, e := range m.events {
			raw, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(raw)
		}
		if most := budgetBurst + 60*budgetRate; taken < first+50 || bytes > most {
			t.Errorf("at once and in a minute more there were %d reports of %d bytes, want 50 and more beyond the first, and at most %d bytes", taken, bytes, most)
		}
		register(t, b, beta) // a neighbour has its own
	})
}

func TestAnAgentThatReportsEachStepIsNeverRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newFleet(t)
		register(t, b, alpha)
		for range 1000 { // at once
			if _, err := b.Report(t.Context(), alpha, api.Building, "running the tests of internal/agent"); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 {
			time.Sleep(time.Second)
			if _, err := b.Report(t.Context(), alpha, api.Building, strings.Repeat("é", 1000)); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.events) != 1301 {
			t.Errorf("%d events, want one for each of 1,301 changes", len(m.events))
		}
	})
}
