package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fleet/api"
	"fleet/internal/atlas"
)

func checkState(s api.State) error {
	if slices.Contains(api.States(), s) {
		return nil
	}
	var names []string
	for _, known := range api.States() {
		names = append(names, string(known))
	}
	return &api.Error{
		Code: api.Invalid, Reason: "bad_state", Message: "state must be one of " + strings.Join(names, ", "),
		Hint: "choose the state that fits and call again",
	}
}

func unregistered() error {
	return &api.Error{
		Code: api.Conflict, Reason: "not_initialized",
		Message: "no agent is registered in this workspace since its session began",
		Hint:    "call agent_init with your model, provider and harness, then agent_status again",
	}
}

func tooOften() error {
	return &api.Error{
		Code: api.RateLimited, Reason: "too_many_reports", RetryAfterSeconds: 1,
		Message: "this workspace reports far too often, so nothing was changed",
		Hint:    "report at each change of phase and no more; go on with your work and report the next change",
	}
}

func busy(err error) error {
	return &api.Error{
		Code: api.Unavailable, Reason: "busy",
		Message: "an earlier change of this workspace's agent is still being written, so nothing was changed",
		Hint:    "call again in a few seconds", Err: err,
	}
}

func unsaved(id atlas.ID, err error) error {
	if errors.Is(err, ErrInactive) {
		return &api.Error{
			Code: api.Conflict, Reason: "inactive", Message: "this workspace is not active",
			Hint: "a person must run: ship activate " + id.Shell(), Err: err,
		}
	}
	return &api.Error{
		Code: api.Unavailable, Reason: "session_unwritable",
		Message: "the ship cannot write to this workspace's session, so nothing was changed",
		Hint:    "call again in a few seconds", Err: fmt.Errorf("save the agent's record: %w", err),
	}
}

func unlogged(err error) error {
	return &api.Error{
		Code: api.Unavailable, Reason: "events_unwritable",
		Message: "the ship cannot write its event log, so nothing was changed",
		Hint:    "a person must look at the ship's disk; go on with your work and report again later", Err: err,
	}
}
