package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// printed is what a text becomes on its way through a screen that is no terminal.
func printed(t *testing.T, s *screen, text string) string {
	t.Helper()
	var out strings.Builder
	s.w = &out
	if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", text, n, err)
	}
	return out.String()
}

func TestNothingGetsPastTheScreenThatDrivesATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain\n\ttext é 世界":          "plain\n\ttext é 世界",
		"a\x1b[2Jb\x07\b\x7f\x00":     "a[2Jb",
		"\x1b[32mours\x1b[0m":         "[32mours[0m",
		"a\u009b31mb\x9b31m":          "a31mb\ufffd31m",
		"DOS\r\nline, and real\rfake": "DOS\r\nline, and realfake",
		"a\u202eb\u200bc\ufe0f":       "abc",
		"\xed\xa0\x80":                "\ufffd\ufffd\ufffd",
	} {
		if got := printed(t, &screen{}, text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
	if got := printed(t, &screen{exact: true}, "a\u202eb\x1bc"); got != "a\u202ebc" {
		t.Errorf("into a pipe %q is printed", got)
	}
}

func TestJSONKeepsWhatTheScreenHides(t *testing.T) {
	yes := true
	text := "a\u202eb\u200b\x7f\u0085\u009b\U000e0041\u2028 <é 世界>"
	raw, err := json.Marshal(map[string]string{"a": text})
	if err != nil {
		t.Fatal(err)
	}
	out := printed(t, &screen{json: &yes, exact: true}, string(raw)+"\n")
	for _, r := range out {
		if r != '\n' && invisible(r) {
			t.Errorf("%q holds %q", out, r)
		}
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out), &back); err != nil || back["a"] != text {
		t.Errorf("%q is read as %q, %v, want %q", out, back["a"], err, text)
	}
}
