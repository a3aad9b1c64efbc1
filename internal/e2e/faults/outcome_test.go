//go:build e2e && linux

package faults

import (
	"encoding/json"
	"slices"
	"strings"
)

// outcome is what an answer says of what was asked for.
type outcome int

const (
	unanswered outcome = iota
	ok                 // it was done
	failed             // it was not done, for certain
	unclear            // it may have been done
)

// outcome reads an answer as an agent has to.
func (m message) outcome(tool string) (outcome, string) {
	if m.Error != nil {
		for _, words := range []string{"nothing was done", "no token was sent"} {
			if strings.Contains(m.Error.Message, words) {
				return failed, m.Error.Message
			}
		}
		return unclear, m.Error.Message
	}
	if strings.Contains(tool, "/") || tool == "initialize" {
		return ok, string(m.Result)
	}
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if json.Unmarshal(m.Result, &r) != nil || len(r.Content) != 1 {
		return unclear, string(m.Result)
	}
	text := r.Content[0].Text
	code, _, _ := strings.Cut(text, ":")
	switch {
	case !r.IsError:
		return ok, text
	case code == "outcome_unknown", code == "internal", strings.Contains(text, "still under way"):
		return unclear, text
	}
	return failed, text
}

// codes are those of ARCHITECTURE's ten that a fault may bring an agent.
func expectedCode(text string) bool {
	code, _, _ := strings.Cut(text, ":")
	return slices.Contains([]string{"conflict", "rate_limited", "unavailable", "outcome_unknown", "not_found"}, code)
}
