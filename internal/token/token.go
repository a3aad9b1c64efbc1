// Package token makes and recognises the bearer tokens of workspaces. It keeps hashes only and
// knows neither HTTP, nor tmux, nor what a token opens: that is the caller's value.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const (
	prefix      = "fleet_"
	randomBytes = 32
	// Length of a token's text in bytes: the prefix and 32 bytes in unpadded base64url.
	Length = len(prefix) + 43
)

const redacted = "fleet_[redacted]"

// ErrMalformed is what Parse answers to anything that Mint cannot have made.
var ErrMalformed = errors.New("not a workspace token")

// Token is a workspace's secret. It cannot print, log or encode itself: every verb of fmt, slog
// and encoding/json gives "fleet_[redacted]". The zero Token is no token and matches nothing.
type Token struct {
	// A pointer, since fmt passes Format by for %p and for an unexported field of another
	// struct, and prints what it finds there: an address.
	text *string
}

// Hash is the SHA-256 of a token's text; it may be stored and compared freely.
type Hash [sha256.Size]byte

// Mint makes a new token from the system's random source, which never fails since Go 1.24.
func Mint() Token {
	raw := make([]byte, randomBytes)
	_, _ = rand.Read(raw)
	text := prefix + base64.RawURLEncoding.EncodeToString(raw)
	return Token{&text}
}

// Parse accepts exactly what Mint writes, in the one canonical spelling. The error never holds
// any of s.
func Parse(s string) (Token, error) {
	encoded, ok := strings.CutPrefix(s, prefix)
	if !ok || len(s) != Length {
		return Token{}, ErrMalformed
	}
	// Strict: the last character's unused bits must be zero, or two texts would be one token.
	if _, err := base64.RawURLEncoding.Strict().DecodeString(encoded); err != nil || strings.ContainsAny(encoded, "\r\n") {
		return Token{}, ErrMalformed
	}
	return Token{&s}, nil
}

// Reveal gives the text. It is for those who hand the token on, into a tmux session and into the
// Authorization header of a request to the ship, and for who masks it in what others wrote.
// The zero Token gives "".
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// Hash gives the value under which a Table knows the token.
func (t Token) Hash() Hash { return sha256.Sum256([]byte(t.Reveal())) }

// IsZero says that t is no token at all.
func (t Token) IsZero() bool { return t.text == nil }

// String redacts.
func (t Token) String() string { return redacted }

// GoString redacts.
func (t Token) GoString() string { return redacted }

// Format redacts under every verb, %x and %q included.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue redacts.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText redacts, for encoding/json too.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
