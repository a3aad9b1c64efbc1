package bridge

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a credential's text. It cannot print, log or encode itself: every verb of fmt, slog
// and encoding/json gives "[redacted]". The zero Secret is no secret at all. It is safe for
// concurrent use, and not comparable with ==: see Equal.
type Secret struct {
	// A function, since fmt passes Format by for an unexported field of another struct, and
	// reflection follows pointers: neither can look into a closure.
	reveal func() string
}

// NewSecret holds text. The empty text gives the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal is the one way out. It is for what must hand the secret on, such as the Authorization
// header of a request to the credential's own host. The zero Secret gives "".
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero says that s is no secret at all.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal compares in constant time. Two zero Secrets are equal.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// Fingerprint is the first 12 hexadecimal digits of the text's SHA-256, for an audit: it tells two
// secrets apart without giving either away. The zero Secret gives "".
func (s Secret) Fingerprint() string {
	if s.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:6])
}

// String redacts.
func (s Secret) String() string { return redacted }

// GoString redacts.
func (s Secret) GoString() string { return redacted }

// Format redacts under every verb, %x and %q included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue redacts.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText redacts, for encoding/json too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
