package toolset_test

import (
	"strings"
	"testing"
)

// TestARefusalIsNotLongerThanItHelps: 800 KB of wrong arguments were answered with 16 MB.
func TestARefusalIsNotLongerThanItHelps(t *testing.T) {
	b := serve(t, "builtin:suspec")
	for name, args := range map[string]string{
		"ten thousand wrong paths": `{"paths":[` + strings.Repeat("1,", 9_999) + `1]}`,
		"a long unknown name":      `{"paths":["$DIR/a"],"` + strings.Repeat("é", 10_000) + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			got := b.call("suspec_check", args)
			b.refused(got, "do not fit")
			if n := len(strings.Join(got.Text, "")); n > 4<<10 {
				t.Errorf("the refusal has %d bytes, want 4 KiB at most", n)
			}
		})
	}
}

func TestAnAdapterFailureIsNotLongerThanItHelps(t *testing.T) {
	b := speaker(t, declare(t, `{"toolset":"mine","tools":[{"name":"json","description":"d","input":{"type":"object","additionalProperties":false},
		"args":[],"output":"json","outcomes":[{"exit":[0],"schema":{"type":"object","additionalProperties":false}}]}]}`))
	b.say(0, `{"`+strings.Repeat("x", 100_000)+`":1}`)
	got := b.call("json", `{}`)
	failed(t, got, "not one of the contract's")
	if n := len(strings.Join(got.Text, "")); n > 4<<10 {
		t.Errorf("the failure has %d bytes, want 4 KiB at most", n)
	}
}

func TestAnAdapterFailureHasNoMoreBytesThanAResult(t *testing.T) {
	b := speaker(t, declare(t, `{"toolset":"mine","max_output_bytes":1024,"tools":[{"name":"json","description":"d","input":{"type":"object","additionalProperties":false},
		"args":[],"output":"json","outcomes":[{"exit":[0],"schema":{"type":"object","additionalProperties":{"type":"string"}}}]}]}`))
	var members []string
	for _, letter := range []string{"w", "x", "y", "z"} {
		members = append(members, `"`+strings.Repeat(letter, 240)+`":1`)
	}
	b.say(0, "{"+strings.Join(members, ",")+"}")
	got := b.call("json", `{}`)
	failed(t, got, "not one of the contract's")
	if n := len(got.Text[0]); n > 1024 {
		t.Errorf("the failure has %d bytes, want max_output_bytes at most", n)
	}
}
