package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fleet/api"
	"fleet/internal/atlas"
)

const (
	maxNameBytes        = 256
	maxDescriptionChars = 1000
)

// clean trims *s and says, for a model to act on, why it is unfit.
func clean(field string, s *string, maxChars, maxBytes int) error {
	*s = strings.TrimSpace(*s)
	refuse := func(message string) error {
		return &api.Error{Code: api.Invalid, Reason: "bad_" + field, Message: field + " " + message, Hint: "correct " + field + " and call again"}
	}
	switch {
	case *s == "":
		return refuse("must not be empty")
	case !utf8.ValidString(*s):
		return refuse("is not valid UTF-8")
	case strings.ContainsFunc(*s, unicode.IsControl):
		return refuse("holds a control character such as a newline or an escape; write it on one line of plain text")
	case maxBytes == maxChars && len(*s) > maxBytes:
		return refuse(fmt.Sprintf("has %d bytes; at most %d are allowed", len(*s), maxBytes))
	case utf8.RuneCountInString(*s) > maxChars:
		return refuse(fmt.Sprintf("has %d characters; at most %d are allowed", utf8.RuneCountInString(*s), maxChars))
	}
	return nil
}

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

// encode writes a status as JSON in printable ASCII without quotes, hashes and dollars of its
// own, so that no reader of tmux options can expand, split or misread it. nil gives "".
func encode(s *api.AgentStatus) string {
	if s == nil {
		return ""
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of strings and times always encodes
	}
	var out strings.Builder
	for _, r := range string(raw) {
		switch {
		case r > 0xffff:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		case r > '~' || strings.ContainsRune("'#$;`", r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// decode reads what encode wrote, and checks it, since whoever may write to the session may
// have written something else.
func decode(id atlas.ID, record string) (*api.AgentStatus, error) {
	s := &api.AgentStatus{}
	if err := json.Unmarshal([]byte(record), s); err != nil {
		return nil, fmt.Errorf("read an agent's record: %w", err)
	}
	if s.Repo != id.Repo || s.Workspace != id.Name {
		return nil, fmt.Errorf("read an agent's record: it belongs to another workspace")
	}
	if err := checkState(s.State); err != nil {
		return nil, err
	}
	for name, field := range map[string]*string{"model": &s.Model, "provider": &s.Provider, "harness": &s.Harness} {
		if err := clean(name, field, maxNameBytes, maxNameBytes); err != nil {
			return nil, err
		}
	}
	if s.Description != "" {
		if err := clean("description", &s.Description, maxDescriptionChars, 4*maxDescriptionChars); err != nil {
			return nil, err
		}
	}
	return s, nil
}
