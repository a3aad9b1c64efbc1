package bridge

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// A shorter secret, which no forge gives out, could be any word.
const shortestMasked = 8

// mask replaces a credential that a forge, or something on the way to it, shows in its answer.
type mask struct {
	inner  io.Reader
	secret []byte
	held   []byte // read, and not yet known to be harmless
	ready  []byte // may go out
	err    error
}

// newMask masks the secret alone, without the name of its scheme. Where there is none, or it is
// too short to tell it from other text, nothing is masked.
func newMask(inner io.Reader, secret Secret) io.Reader {
	text := bareSecret(secret)
	if len(text) < shortestMasked {
		return inner
	}
	return &mask{inner: inner, secret: text}
}

// bareSecret is revealed only to be looked for.
func bareSecret(secret Secret) []byte {
	text := []byte(secret.Reveal())
	if i := bytes.LastIndexByte(text, ' '); i >= 0 {
		text = text[i+1:]
	}
	return text
}

func (m *mask) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.fill(max(len(p), 4096))
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// fill reads once, and lets go of all but what may be the beginning of the secret.
func (m *mask) fill(size int) {
	chunk := make([]byte, len(m.held)+size)
	n := copy(chunk, m.held)
	read, err := m.inner.Read(chunk[n:])
	chunk, m.err = bytes.ReplaceAll(chunk[:n+read], m.secret, []byte(redacted)), err
	cut := len(chunk)
	if err == nil {
		cut -= overlap(chunk, m.secret)
	}
	m.ready, m.held = chunk[:cut], chunk[cut:]
}

// overlap is the length of the longest end of text with which secret begins.
func overlap(text, secret []byte) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// maskHead masks the rest of an answer: its status line and its headers. A header whose name shows
// the secret goes, and so do trailers, which net/http fills in later: into its own copy.
func maskHead(original *http.Response, secret Secret) *http.Response {
	resp := new(*original)
	resp.Trailer = nil
	text := string(bareSecret(secret))
	if len(text) < shortestMasked {
		return resp
	}
	resp.Status = strings.ReplaceAll(resp.Status, text, redacted)
	for name, values := range resp.Header {
		if strings.Contains(strings.ToLower(name), strings.ToLower(text)) {
			delete(resp.Header, name)
		}
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, text, redacted)
		}
	}
	return resp
}
