package bridge

import (
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
