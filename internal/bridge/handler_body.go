package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"fleet/api"
)

const maxRequest = 1 << 20 // bytes of a request's body

// fillBody takes what a POST brings: of a comment the text alone.
func fillBody(w http.ResponseWriter, r *http.Request, q *Request) *api.Error {
	if !saysJSON(r.Header) {
		return &api.Error{Code: api.Invalid, Reason: "content_type", Message: "a request's body is " + jsonType + ", and its Content-Type says so once"}
	}
	known := []string{"body"}
	if q.Op == OpPRReview {
		known = append(known, "event", "head")
	}
	var c api.Contribution
	members, err := decodeBody(w, r, &c, known...)
	if err != nil {
		return err
	}
	for _, name := range known {
		if string(members[name]) == "null" {
			return badBody("is not as it should be: its member "+quoted(name)+" is null", nil)
		}
	}
	if members["head"] != nil && c.Head == "" {
		return &api.Error{Code: api.Invalid, Reason: "bad_sha", Message: "head is empty: leave it out, or give a commit's full id"}
	}
	q.Body, q.Event, q.Head = c.Body, c.Event, c.Head
	return nil
}

func saysJSON(h http.Header) bool {
	values := h.Values("Content-Type")
	if len(values) != 1 {
		return false
	}
	media, parameters, err := mime.ParseMediaType(values[0])
	charset, given := parameters["charset"]
	return err == nil && media == jsonType && (!given || strings.EqualFold(charset, "utf-8"))
}

// decodeBody takes one JSON object in valid UTF-8, with no members but the known ones, and gives
// those that are there.
func decodeBody(w http.ResponseWriter, r *http.Request, into any, known ...string) (members map[string]json.RawMessage, refusal *api.Error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &api.Error{Code: api.Invalid, Reason: "too_large", Message: fmt.Sprintf("the request is larger than %d bytes", large.Limit)}
	case err != nil:
		return nil, &api.Error{Code: api.Invalid, Reason: "broken_body", Message: "the request ended before its body did"}
	case !utf8.Valid(raw):
		return nil, badBody("is not valid UTF-8", nil)
	}
	if members, refusal = membersOf(string(raw), known); refusal != nil {
		return nil, refusal
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return nil, badBody("is not the JSON object that belongs here", err)
	}
	return members, nil
}

// membersOf gives the members of a JSON object. It is stricter than encoding/json, which takes a
// name in any case, and the last of two members with one name: what others read differently is
// better not posted (RFC 8259 §4).
func membersOf(text string, known []string) (members map[string]json.RawMessage, refusal *api.Error) {
	members = map[string]json.RawMessage{}
	d := json.NewDecoder(strings.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, badBody("is not a JSON object", err)
	}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		switch {
		case err != nil || !ok:
			return nil, badBody("is not a whole JSON object", err)
		case !slices.Contains(known, name):
			return nil, badBody("has the member "+quoted(name)+", which does not belong here", nil)
		case members[name] != nil:
			return nil, badBody("is unclear: its member "+quoted(name)+" comes twice", nil)
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, badBody("is not a whole JSON object", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badBody("goes on after its JSON object", nil)
	}
	return members, nil
}

func badBody(what string, err error) *api.Error {
	return &api.Error{Code: api.Invalid, Reason: "body_json", Message: "the request's body " + what, Err: err}
}
