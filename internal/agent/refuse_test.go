package agent

import (
	"errors"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/atlas"
)

// expectError wants an *api.Error that a model can act on, and returns it.
func expectError(t *testing.T, err error, code api.Code, says ...string) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error = %v, want code %s", err, code)
	}
	for _, want := range says {
		if !strings.Contains(e.Text(), want) {
			t.Errorf("error = %q, which does not say %q", e.Text(), want)
		}
	}
	if e.Message == "" || e.Hint == "" || e.Reason == "" {
		t.Errorf("error = %+v, want a message, a hint and a reason", e)
	}
	for _, dump := range []string{"%!", "{", "nil", "api.", "agent.", "0x", "\x1b"} {
		if strings.Contains(e.Text(), dump) {
			t.Errorf("error = %q holds %q, which is nothing for a model", e.Text(), dump)
		}
	}
	return e
}

func TestReportBeforeInitIsRefused(t *testing.T) {
	b, m := newFleet(t)
	_, err := b.Report(t.Context(), alpha, api.Building, "x")
	expectError(t, err, api.Conflict, "no agent is registered", "agent_init")
	if len(m.events) != 0 || m.sessions[alpha] != "" || b.Get(alpha) != nil {
		t.Errorf("a refused Report left events %v, record %q, status %+v", m.events, m.sessions[alpha], b.Get(alpha))
	}
}

func TestUnfitStringsChangeNothing(t *testing.T) {
	long := strings.Repeat("é", 128) // 256 bytes
	cases := map[string]struct {
		model, provider, harness string
		state                    api.State
		description              string
		says                     []string // empty: it is fit
	}{
		"longest names":         {long, long, long, "", "", nil},
		"longest description":   {"", "", "", api.Idle, strings.Repeat("🚢", 1000), nil},
		"empty model":           {"", "p", "h", "", "", []string{"model must not be empty"}},
		"blank provider":        {"m", " \t\n", "h", "", "", []string{"provider must not be empty"}},
		"empty harness":         {"m", "p", "", "", "", []string{"harness must not be empty"}},
		"long model":            {long + "x", "p", "h", "", "", []string{"model has 257 bytes; at most 256"}},
		"long provider":         {"m", long + "x", "h", "", "", []string{"provider has 257 bytes; at most 256"}},
		"long harness":          {"m", "p", long + "x", "", "", []string{"harness has 257 bytes; at most 256"}},
		"newline in model":      {"a\nb", "p", "h", "", "", []string{"model holds a control character"}},
		"escape in provider":    {"m", "a\x1b[2Jb", "h", "", "", []string{"provider holds a control character"}},
		"DEL in harness":        {"m", "p", "a\x7fb", "", "", []string{"harness holds a control character"}},
		"not UTF-8 in model":    {"a\xffb", "p", "h", "", "", []string{"model is not valid UTF-8"}},
		"empty description":     {"", "", "", api.Idle, "", []string{"description must not be empty"}},
		"blank description":     {"", "", "", api.Idle, " \u00a0 ", []string{"description must not be empty"}},
		"invisible description": {"", "", "", api.Idle, "\u200b \u2060\ufeff\u3164\ufe0f", []string{"description must not be empty"}},
		"invisible model":       {"\u200b", "p", "h", "", "", []string{"model must not be empty"}},
		"invisible provider":    {"m", "\u2060\u00ad", "h", "", "", []string{"provider must not be empty"}},
		"invisible harness":     {"m", "p", "\u2028\u200d", "", "", []string{"harness must not be empty"}},
		"joined characters":     {"", "", "", api.Idle, "\u200d👩\u200d🚀", nil},
		"long description":      {"", "", "", api.Idle, strings.Repeat("é", 1001), []string{"description has 1001 characters; at most 1000"}},
		"newline":               {"", "", "", api.Idle, "a\nb", []string{"description holds a control character", "one line"}},
		"NUL":                   {"", "", "", api.Idle, "a\x00b", []string{"description holds a control character"}},
		"U+0085":                {"", "", "", api.Idle, "a\u0085b", []string{"description holds a control character"}},
		"DEL":                   {"", "", "", api.Idle, "a\u007fb", []string{"description holds a control character"}},
		"not UTF-8":             {"", "", "", api.Idle, "a\xc3", []string{"description is not valid UTF-8"}},
		"half a surrogate pair": {"", "", "", api.Idle, "a\xed\xa0\x80", []string{"description is not valid UTF-8"}},
		"no state":              {"", "", "", "", "x", []string{"state must be one of idle, planning, building, verifying, awaiting"}},
		"unknown state":         {"", "", "", "sleeping", "x", []string{"state must be one of idle, planning, building, verifying, awaiting"}},
		"a state in upper case": {"", "", "", "Idle", "x", []string{"state must be one of"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b, m := newFleet(t)
			before := register(t, b, alpha)
			record := m.sessions[alpha]
			var err error
			if c.state == "" && c.description == "" {
				_, err = b.Init(t.Context(), alpha, c.model, c.provider, c.harness)
			} else {
				_, err = b.Report(t.Context(), alpha, c.state, c.description)
			}
			if c.says == nil {
				if err != nil {
					t.Errorf("error = %v, want none", err)
				}
				return
			}
			expectError(t, err, api.Invalid, append(c.says, "call again")...)
			if b.Get(alpha) != before || m.sessions[alpha] != record || len(m.events) != 1 {
				t.Errorf("a refusal left status %+v, record %q and events %v", b.Get(alpha), m.sessions[alpha], m.events)
			}
		})
	}
}

func TestAFailingLogTakesTheRecordBack(t *testing.T) {
	b, m := newFleet(t)
	m.logErr = errors.New("no space left on device")
	_, err := b.Init(t.Context(), alpha, "m", "p", "h")
	e := expectError(t, err, api.Unavailable, "event log", "nothing was changed", "go on with your work")
	if !errors.Is(e, m.logErr) || strings.Contains(e.Text(), "device") {
		t.Errorf("error = %q wrapping %v, want the cause wrapped and not told", e.Text(), e.Err)
	}
	if b.Get(alpha) != nil || m.sessions[alpha] != "" {
		t.Errorf("a failing log left status %+v and record %q", b.Get(alpha), m.sessions[alpha])
	}
	m.logErr = nil
	before := register(t, b, alpha)
	m.logErr = errors.New("no space left on device")
	_, err = b.Report(t.Context(), alpha, api.Building, "x")
	expectError(t, err, api.Unavailable, "event log")
	if b.Get(alpha) != before || m.sessions[alpha] != encode(before) {
		t.Errorf("a failing log left status %+v and record %q, want those of before", b.Get(alpha), m.sessions[alpha])
	}
}

func TestAFailingStoreChangesNothing(t *testing.T) {
	b, m := newFleet(t)
	before := register(t, b, alpha)
	m.saveErr = errors.New("tmux does not answer")
	_, err := b.Report(t.Context(), alpha, api.Building, "x")
	if e := expectError(t, err, api.Unavailable, "session", "nothing was changed"); !errors.Is(e, m.saveErr) {
		t.Errorf("error wraps %v, want the store's", e.Err)
	}
	if b.Get(alpha) != before || len(m.events) != 1 {
		t.Errorf("a failing store left status %+v and events %v", b.Get(alpha), m.events)
	}
}

func TestAnInactiveWorkspaceSaysHowToActivateIt(t *testing.T) {
	b, m := newFleet(t)
	for id, want := range map[atlas.ID]string{alpha: "ship activate r/alpha", beta: "ship activate 'r/é b'"} {
		delete(m.sessions, id)
		_, err := b.Init(t.Context(), id, "m", "p", "h")
		expectError(t, err, api.Conflict, "not active", want)
	}
	if len(m.events) != 0 || b.Get(alpha) != nil {
		t.Errorf("an inactive workspace left status %+v and events %v", b.Get(alpha), m.events)
	}
}
