package bridge

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

const discardLimit = 64 << 10

// discard ends an answer that nobody wants, so that its connection may be used again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, discardLimit)
	_ = resp.Body.Close()
}

// wrap hands the answer to the client: bounded, masked, remembered where it may be asked for
// again, and without the request that was signed. done is called once, when the body has ended.
func (c *guardedCall) wrap(resp *http.Response, done func()) {
	inner := resp.Body
	b := &answerBody{call: c, status: resp.StatusCode, inner: inner, done: sync.OnceFunc(done)}
	b.reader = newMask(&capped{inner: inner, left: c.guard.maxBody, over: func() error { return c.tooLarge(resp.StatusCode) }}, c.secret)
	b.keep = c.guard.answers.keeper(c.asked, resp)
	resp.Body = b
	resp.Request = c.origin
	if !c.secret.IsZero() {
		resp.ContentLength = -1 // a mask may change it
		resp.Header.Del("Content-Length")
	}
}

// answerBody is what a client reads. It is for one goroutine, as any body is.
type answerBody struct {
	call   *guardedCall
	status int
	inner  io.Closer
	reader io.Reader
	keep   *keeper // nil: not to be remembered
	done   func()
	ended  error
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	n, err := b.reader.Read(p)
	b.keep.write(p[:n])
	if err == nil {
		return n, nil
	}
	if err == io.EOF {
		b.keep.commit()
	} else {
		err = b.broken(err)
	}
	b.ended = err
	b.done()
	return n, err
}

// broken is the error of an answer that was cut off. One that has already said no stays a no.
func (b *answerBody) broken(err error) error {
	c := b.call
	return transportFault(c.write && !definite(b.status), true, err)
}

func (b *answerBody) Close() error {
	err := b.inner.Close()
	b.done()
	return err
}

// capped reads up to left bytes, and fails if there is one more.
type capped struct {
	inner io.Reader
	left  int64
	over  func() error
}

func (c *capped) Read(p []byte) (int, error) {
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.inner.Read(p)
	if int64(n) > c.left {
		n = int(c.left)
		err = c.over()
	}
	c.left -= int64(n)
	return n, err
}

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
	if len(text) < 8 {
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

func maskHeader(h http.Header, secret Secret) {
	text := bareSecret(secret)
	if len(text) < 8 {
		return
	}
	for _, values := range h {
		for i, v := range values {
			values[i] = string(bytes.ReplaceAll([]byte(v), text, []byte(redacted)))
		}
	}
}
