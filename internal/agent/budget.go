package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"fleet/api"
)

const (
	// A workspace may write budgetBurst bytes of events at once, and budgetRate bytes a second.
	// It is some 2,000 reports of a line each, then eight a second. Bytes are counted, since it
	// is bytes that push the events of others out of the log: to turn all of it over takes one
	// workspace hours.
	budgetBurst = 1 << 20
	budgetRate  = 4 << 10
)

// budget bounds what one workspace writes to the event log. The zero budget is full.
type budget struct {
	spent int
	since time.Time // when spent was last made smaller
}

// take refuses an event for which nothing is left; of one that is let in, all is counted.
func (b *budget) take(e api.Event, now time.Time) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("measure an event: %w", err)
	}
	if back := now.Sub(b.since); back > 0 {
		// An hour refills any budget, and its bytes fit into an int.
		b.spent = max(0, b.spent-int(min(back, time.Hour).Seconds()*budgetRate))
		b.since = now
	}
	if b.spent+len(raw) > budgetBurst {
		return tooOften()
	}
	b.spent += len(raw)
	return nil
}
