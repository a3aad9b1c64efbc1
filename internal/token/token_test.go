package token

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestMintedTokensAreFortyNineBytesAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		text := Mint().Reveal()
		if len(text) != Length || !strings.HasPrefix(text, "fleet_") {
			t.Fatalf("Mint() = %d bytes, want %d and the prefix fleet_", len(text), Length)
		}
		if seen[text] {
			t.Fatal("Mint() gave the same token twice")
		}
		seen[text] = true
	}
}

func TestParseRefusesWhatMintCannotHaveMade(t *testing.T) {
	good := Mint().Reveal()
	cases := map[string]string{
		"empty":                 "",
		"prefix only":           "fleet_",
		"unexpanded variable":   "${FLEET_AGENT_MCP_TOKEN}",
		"other prefix":          "float_" + good[6:],
		"upper-case prefix":     "FLEET_" + good[6:],
		"one character short":   good[:Length-1],
		"one character long":    good + "A",
		"leading blank":         " " + good,
		"newline at the end":    good[:Length-1] + "\n",
		"standard alphabet":     good[:Length-2] + "+/",
		"padding":               good[:Length-1] + "=",
		"unused bits set":       "fleet_" + strings.Repeat("A", 42) + "B",
		"newline in the middle": good[:20] + "\n" + good[21:],
		"NUL":                   good[:20] + "\x00" + good[21:],
	}
	for name, text := range cases {
		if tok, err := Parse(text); err == nil || !tok.IsZero() {
			t.Errorf("%s: Parse accepted it", name)
		}
	}
	if _, err := Parse(good); err != nil {
		t.Errorf("Parse(Mint().Reveal()) = %v", err)
	}
}

func TestATokenCannotBePrinted(t *testing.T) {
	tok := Mint()
	secret := tok.Reveal()[len(prefix):]
	holder := struct {
		Token   Token
		Pointer *Token
		List    []Token
		Map     map[string]Token
		hidden  Token
	}{tok, &tok, []Token{tok}, map[string]Token{"k": tok}, tok}

	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%10s", "%T"} {
		fmt.Fprintf(&out, verb+"\n", tok)
		fmt.Fprintf(&out, verb+"\n", holder)
		fmt.Fprintf(&out, verb+"\n", holder.List)
	}
	fmt.Fprintln(&out, tok, fmt.Errorf("wrapped %v", tok))

	var logged bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(h).Info("x", "token", tok, "holder", holder, "list", holder.List, "pointer", &tok)
	}
	encoded, err := json.Marshal(map[string]any{"token": tok, "holder": holder})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"fmt": out.String(), "slog": logged.String(), "json": string(encoded)} {
		for form, s := range map[string]string{"text": secret, "hex": fmt.Sprintf("%x", secret), "base64": base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, s) {
				t.Errorf("%s shows the token as %s", name, form)
			}
		}
		if !strings.Contains(text, redacted) {
			t.Errorf("%s does not say that something was redacted", name)
		}
	}
}

func TestALookupFindsOnlyWhatWasAdded(t *testing.T) {
	var table Table[string]
	a, b := Mint(), Mint()
	if !table.Add(a, "a") || !table.Add(b, "b") || !table.Add(a, "a") {
		t.Fatal("Add refused a token of its own")
	}
	if v, ok := table.Lookup(a); !ok || v != "a" {
		t.Errorf("Lookup(a) = %q, %v", v, ok)
	}
	if v, ok := table.Lookup(Mint()); ok {
		t.Errorf("an unknown token opens %q", v)
	}
	if _, ok := table.Lookup(Token{}); ok {
		t.Error("the zero token opens something")
	}
	if table.Add(Token{}, "zero") {
		t.Error("Add took the zero token")
	}
	if n := table.Len(); n != 2 {
		t.Errorf("Len() = %d, want 2", n)
	}
}

func TestATokenSeenTwiceOpensNeither(t *testing.T) {
	var table Table[string]
	tok := Mint()
	table.Add(tok, "a")
	if table.Add(tok, "b") {
		t.Error("Add took a token that opens another value")
	}
	for _, third := range []string{"a", "b", "c"} {
		table.Add(tok, third)
		if v, ok := table.Lookup(tok); ok {
			t.Errorf("a token in conflict opens %q", v)
		}
	}
	table.RevokeAll("a")
	if table.Add(tok, "b") {
		t.Error("a token in conflict opens again after one holder was revoked")
	}
	table.Revoke(tok)
	if !table.Add(tok, "a") {
		t.Error("a revoked token stays in conflict")
	}
}

func TestRevocationIsImmediateAndExact(t *testing.T) {
	var table Table[string]
	old, replacement, sibling := Mint(), Mint(), Mint()
	table.Add(old, "a")
	table.Add(replacement, "a")
	table.Add(sibling, "b")

	table.Revoke(old)
	if _, ok := table.Lookup(old); ok {
		t.Error("a revoked token opens something")
	}
	if _, ok := table.Lookup(replacement); !ok {
		t.Error("revoking one token took its replacement too")
	}
	table.RevokeAll("a")
	if _, ok := table.Lookup(replacement); ok {
		t.Error("RevokeAll left a token")
	}
	if _, ok := table.Lookup(sibling); !ok {
		t.Error("RevokeAll took a sibling's token")
	}
}

func TestARotationKeepsTheNewTokenAlone(t *testing.T) {
	var table Table[string]
	old, next, sibling, disputed := Mint(), Mint(), Mint(), Mint()
	table.Add(old, "a")
	table.Add(next, "a")
	table.Add(sibling, "b")
	table.Add(disputed, "b")
	table.Add(disputed, "a")
	table.Keep(next, "a")
	if _, ok := table.Lookup(old); ok {
		t.Error("Keep left the old token")
	}
	for name, tok := range map[string]Token{"a": next, "b": sibling} {
		if v, ok := table.Lookup(tok); !ok || v != name {
			t.Errorf("Keep took a token of %s", name)
		}
	}
	if table.Add(disputed, "a"); table.Len() != 2 {
		t.Error("Keep made a token in conflict open something")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Mint().Reveal())
	f.Add("fleet_" + strings.Repeat("A", 42) + "B")
	f.Add("${FLEET_AGENT_MCP_TOKEN}")
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := Parse(s)
		if err != nil {
			if !tok.IsZero() || (len(s) > 6 && strings.Contains(err.Error(), s)) {
				t.Errorf("a refused text gives a token or stands in the error %q", err)
			}
			return
		}
		raw, err := base64.RawURLEncoding.DecodeString(s[len(prefix):])
		if err != nil || len(raw) != randomBytes || prefix+base64.RawURLEncoding.EncodeToString(raw) != s {
			t.Errorf("Parse accepted %q, which is not the canonical spelling of 32 bytes", s)
		}
	})
}
