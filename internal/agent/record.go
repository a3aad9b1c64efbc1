package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/atlas"
)

const (
	maxNameBytes        = 256
	maxDescriptionChars = 1000

	// A record of the longest strings, with every character escaped, stays under 20 KiB.
	maxRecordBytes = 64 << 10
)

// limit is how long a string may be.
type limit struct {
	most  int
	unit  string
	count func(string) int
}

func cleanNames(model, provider, harness *string) error {
	bytes := limit{maxNameBytes, "bytes", func(s string) int { return len(s) }}
	if err := clean("model", model, bytes); err != nil {
		return err
	}
	if err := clean("provider", provider, bytes); err != nil {
		return err
	}
	return clean("harness", harness, bytes)
}

func cleanDescription(s *string) error {
	return clean("description", s, limit{maxDescriptionChars, "characters", utf8.RuneCountInString})
}

// clean trims *s and says, for a model to act on, why it is unfit. It never repeats *s.
func clean(field string, s *string, l limit) error {
	*s = strings.TrimSpace(*s)
	var message string
	switch {
	case !Visible(*s):
		message = "must not be empty"
	case !utf8.ValidString(*s):
		message = "is not valid UTF-8"
	case strings.ContainsFunc(*s, unicode.IsControl):
		message = "holds a control character such as a newline or an escape; write it on one line of plain text"
	case l.count(*s) > l.most:
		message = fmt.Sprintf("has %d %s; at most %d are allowed", l.count(*s), l.unit, l.most)
	default:
		return nil
	}
	return &api.Error{
		Code: api.Invalid, Reason: "bad_" + field, Message: field + " " + message,
		Hint: "correct " + field + " and call again",
	}
}

// Visible says that text holds a character that can be seen: blanks, format characters such as
// U+200B, and fillers that fonts leave out do not count.
func Visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Z, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

// encode writes a status as JSON in printable ASCII without ', `, #, $ and ;, so that nothing
// between here and where the session keeps it can expand, split or misread it. nil gives "".
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
	if len(record) > maxRecordBytes {
		return nil, fmt.Errorf("read an agent's record: it has %d bytes", len(record))
	}
	s := &api.AgentStatus{}
	if err := json.Unmarshal([]byte(record), s); err != nil {
		return nil, fmt.Errorf("read an agent's record: %w", err)
	}
	if s.Repo != id.Repo || s.Workspace != id.Name {
		return nil, errors.New("read an agent's record: it belongs to another workspace")
	}
	if err := uuid.Validate(s.SessionID); err != nil {
		return nil, fmt.Errorf("read an agent's record: its session_id: %w", err)
	}
	// Not their order: a clock may have been set back between them.
	if s.StartedAt.IsZero() || s.UpdatedAt.IsZero() {
		return nil, errors.New("read an agent's record: a time is missing")
	}
	if err := errors.Join(checkState(s.State), cleanNames(&s.Model, &s.Provider, &s.Harness)); err != nil {
		return nil, fmt.Errorf("read an agent's record: %w", err)
	}
	// It is empty after agent_init.
	if s.Description != "" {
		if err := cleanDescription(&s.Description); err != nil {
			return nil, fmt.Errorf("read an agent's record: %w", err)
		}
	}
	return s, nil
}
