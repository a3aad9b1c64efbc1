//go:build e2e && linux

package faults

import (
	"encoding/json"
	"time"
)

// write is a change of what agent_status_get shows of a workspace.
type write struct {
	value    string    // "" where a deactivation took the agent away
	from, to time.Time // it happened in between; to zero: it may still come
	never    bool      // it was refused for certain
}

// checkRegisters holds each answer of agent_status_get to what was written: it shows no value
// that was replaced, before it was asked for, by something that was acknowledged or seen.
func (s *seedRun) checkRegisters() {
	for workspace := range s.world.names {
		writes, reads := s.history(workspace)
		for _, read := range reads {
			why := "which nobody wrote"
			for _, one := range writes {
				if one.value == shown(read.text) {
					if why = one.unfit(read, writes); why == "" {
						break
					}
				}
			}
			if why != "" {
				s.world.problem("agent_status_get in %s shows %q, %s", s.world.names[workspace], shown(read.text), why)
			}
		}
	}
}

// unfit says why read can't have seen w; "": it can.
func (w *write) unfit(read *ask, all []*write) string {
	switch {
	case w.never:
		return "which was refused"
	case w.from.After(read.answered):
		return "before it was written"
	case w.to.IsZero():
		return ""
	}
	for _, other := range all {
		if !other.never && !other.to.IsZero() && w.to.Before(other.from) && other.to.Before(read.sent) {
			return "though \"" + other.value + "\" had replaced it for certain " + read.sent.Sub(other.to).String() + " before"
		}
	}
	return ""
}

// history gives what was written to a workspace's status and what was read of it.
func (s *seedRun) history(workspace int) (writes []*write, reads []*ask) {
	writes = []*write{{to: time.Unix(0, 0)}} // at first there is no agent
	for _, c := range s.changes {
		if c.workspace == workspace {
			writes = append(writes, &write{from: c.from, to: c.to})
		}
	}
	byValue := map[string]*write{}
	for _, a := range s.asks() {
		switch {
		case a.run.workspace != workspace:
		case a.tool == "agent_init" || a.tool == "agent_status":
			one := &write{value: a.value, from: a.sent, never: a.outcome == failed}
			if a.outcome == ok {
				one.to = a.answered
			}
			byValue[a.value] = one
			writes = append(writes, one)
		case a.tool == "agent_status_get" && a.outcome == ok:
			reads = append(reads, a)
		}
	}
	for _, r := range reads { // what was seen was written by then
		if one := byValue[shown(r.text)]; one != nil && (one.to.IsZero() || r.answered.Before(one.to)) {
			one.to = r.answered
		}
	}
	return writes, reads
}

// shown is what a status says that only one write can have written; "" where no agent is.
func shown(text string) string {
	var status *struct{ Model, Description string }
	if json.Unmarshal([]byte(text), &status) != nil || status == nil {
		return ""
	}
	if status.Description != "" {
		return status.Description
	}
	return status.Model
}
