package github

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"fleet/api"
)

// A cursor is JSON in base64url. Whoever hands it on seals it; still it is not believed: every
// address in it is held to the repository and the list that are asked for.

func encodeCursor(v any) string {
	raw, _ := json.Marshal(v) // of numbers and texts: it cannot fail
	return base64.RawURLEncoding.EncodeToString(raw)
}

func decodeCursor(cursor string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return badCursor(err)
	}
	return nil
}

func badCursor(cause error) *api.Error {
	return &api.Error{
		Code: api.Invalid, Reason: "bad_cursor", Message: "the cursor does not belong to this question",
		Hint: "call again without cursor, then use next_cursor from that answer", Err: cause,
	}
}

// relative is an address of the API without what is the same for all of them.
func (at place) relative(address string) string { return strings.TrimPrefix(address, at.base) }

// absolute is relative's inverse, for an address of the given list: below this repository's name,
// or below a number, which is how the forge writes its links.
func (at place) absolute(relative string, list ...string) (string, error) {
	path, _, _ := strings.Cut(relative, "?")
	parts := strings.Split(path, "/")
	own := strings.Split(at.relative(at.under(nil, list...)), "/")
	switch {
	case slices.EqualFunc(parts, own, strings.EqualFold):
	case len(parts) == len(own)-1 && parts[0] == "repositories" && isNumber(parts[1]) && slices.EqualFunc(parts[2:], own[3:], strings.EqualFold):
	default:
		return "", badCursor(nil)
	}
	return at.base + relative, nil
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
