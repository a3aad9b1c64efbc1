package bridge

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"fleet/api"
)

// maxCursor bounds a cursor that comes in, as api/openapi.yaml has it. Ours are a few hundred
// bytes, and fit with the longest ref in them.
const maxCursor = 4 << 10

// position is where a page begins.
type position struct {
	Page string `json:"p,omitempty"` // the provider's own cursor of the page
	// What of the page has been shown: all comments from the one with this name on …
	Before string `json:"b,omitempty"`
	// … or this many checks or jobs from the start.
	Skip int `json:"s,omitempty"`
	// At is the commit that the first page was of.
	At *api.Resolved `json:"t,omitempty"`
}

// sealer makes cursors that say nothing to who holds them, and work for the same ship, repository,
// workspace, tool and target alone.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &sealer{aead}, err
}

func (s *sealer) seal(p position, bound string) (string, error) {
	raw, err := encode(p) // a ref's <, > and & would take six bytes each otherwise
	if err != nil {
		return "", err
	}
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails since Go 1.24
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, raw, []byte(bound))), nil
}

// open gives the position in a cursor; "" is the first page.
func (s *sealer) open(cursor, bound string) (position, error) {
	var p position
	if cursor == "" {
		return p, nil
	}
	bad := &api.Error{
		Code: api.Invalid, Reason: "bad_cursor",
		Message: "the cursor is not one that an earlier answer to the same question in this workspace gave",
		Hint:    "call again without cursor, then use next_cursor from that answer with the same arguments",
	}
	if len(cursor) > maxCursor {
		return p, bad
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	size := s.aead.NonceSize()
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(sealed) < size {
		return p, bad
	}
	raw, err := s.aead.Open(nil, sealed[:size], sealed[size:], []byte(bound))
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return position{}, bad
	}
	return p, nil
}

// binding is what a cursor of this request's answer works for.
func (r *Request) binding(ship string) string {
	return fmt.Sprintf("%q", []string{
		ship, r.Repo, r.Workspace, r.Op, r.state(), fmt.Sprint(r.Number), fmt.Sprint(r.Target.Pull), r.Target.Ref, r.Target.Branch,
	})
}
