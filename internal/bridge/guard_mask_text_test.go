package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fleet/api"
)

func signedGuard(secrets ...string) *Guard {
	g := &Guard{signed: &signedWith{}}
	for _, s := range secrets {
		g.signed.add(NewSecret("Bearer " + s))
	}
	return g
}

func TestWhatAGuardSignedWithIsMaskedInText(t *testing.T) {
	const older, newer = "corp-0123456789", "corp-abcdefghij"
	g := signedGuard(older, "short", newer, older)
	hidden := strings.Join(strings.Split(newer, ""), "\u200b")
	for text, want := range map[string]string{
		"a " + older + " b " + newer:                     "a " + redacted + " b " + redacted,
		"é " + hidden + " é " + hidden + " " + older:     "é " + redacted + " é " + redacted + " " + redacted,
		"636f72702d6162636465666768696a":                 redacted, // hexadecimal
		"Y29ycC1hYmNkZWZnaGlq":                           redacted, // base64
		"a short and harmless téxt, \u200b as it stands": "a short and harmless téxt, \u200b as it stands",
	} {
		if got := g.Mask(text); got != want {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAnErrorLosesTheSecretAndStaysWhatItWas(t *testing.T) {
	const secret = "corp-0123456789"
	g := signedGuard(secret)
	cause := fmt.Errorf("said %s: %w", secret, context.Canceled)
	err := g.maskError(&api.Error{Code: api.NotFound, Reason: secret, Message: "no " + secret, Hint: "try " + secret, Err: cause})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.NotFound || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v is another error", err)
	}
	if shown := printed(e) + e.Hint + e.Reason + printed(e.Err); strings.Contains(shown, secret) {
		t.Errorf("it shows the secret: %s", shown)
	}
	if plain := errors.New("plain"); g.maskError(plain) != plain {
		t.Error("an error that shows nothing became another one")
	}
}
