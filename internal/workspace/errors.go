package workspace

import (
	"errors"

	"fleet/api"
	"fleet/internal/atlas"
	"fleet/internal/tmux"
)

// command is a command line that people can paste.
func command(words string, id atlas.ID) string { return words + " " + id.Shell() }

func unavailable(message string, err error) error {
	var missing *tmux.MissingError
	if errors.As(err, &missing) {
		return &api.Error{Code: api.Unavailable, Reason: "tmux_missing", Message: missing.Error(), Hint: missing.Hint(), Err: err}
	}
	var failed *tmux.Error
	if errors.As(err, &failed) { // it never holds what was sent
		message += ": " + failed.Error()
	}
	return &api.Error{
		Code: api.Unavailable, Reason: "tmux_failed", Message: message,
		Hint: "try again in a few seconds; the ship's log says more", Err: err,
	}
}

// noTemp says what stands in the way of our folder in /tmp, where everybody may make it first.
func noTemp(err error) error {
	return &api.Error{
		Code: api.Unavailable, Reason: "temp_folder", Message: "the session's private folder under /tmp cannot be had: " + err.Error(),
		Hint: "see whose it is with ls -ld, and have its owner or root remove it or set it right; then try again", Err: err,
	}
}

func noWorkspace(id atlas.ID, err error) error {
	return &api.Error{
		Code: api.NotFound, Reason: "no_workspace", Message: "there is no workspace " + id.String(),
		Hint: command("ship create", id) + ", or see: ship ls", Err: err,
	}
}

func notActive(id atlas.ID) error {
	return &api.Error{
		Code: api.Conflict, Reason: "inactive", Message: id.String() + " is not active",
		Hint: command("ship activate", id),
	}
}

func alreadyActive(id atlas.ID) error {
	return &api.Error{
		Code: api.Conflict, Reason: "active", Message: id.String() + " is active already",
		Hint: command("ship attach", id) + ", or first: " + command("ship deactivate", id),
	}
}

func invalid(reason, message, hint string, err error) error {
	return &api.Error{Code: api.Invalid, Reason: reason, Message: message, Hint: hint, Err: err}
}
