package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// afterAnswer is how long a stream may stay open after its answer before it is cut off.
const afterAnswer = 50 * time.Millisecond

// maxDrained bounds what is read of a body that nobody needs, to keep its connection.
const maxDrained = 64 << 10

var errTooLong = errors.New("the answer is longer than 32 MiB")

// receive hands out what resp answers. Whatever the status, an answer in the body counts.
func (s *session) receive(c *call, t *target, resp *http.Response) error {
	defer resp.Body.Close()
	if len(c.asked) == 0 {
		if resp.StatusCode >= 300 {
			s.log.say(fmt.Sprintf("the ship answered HTTP %d to a notification or a response", resp.StatusCode))
		}
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
		return nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return s.receiveEvents(c, t, resp)
	}
	body, err := readBody(resp)
	if err != nil {
		return s.unread(c, err)
	}
	if text, ok := compact(body); ok {
		if text[0] == '[' && c.batch {
			return s.receiveBatch(c, text)
		}
		if text[0] == '{' {
			m := parse(text)
			if s.answer(c, m, text) {
				return nil
			}
			if m.anonymous() {
				return s.refused(t, resp, body, unquote(field(m.fault, "message")))
			}
		}
	}
	return s.refused(t, resp, body, "")
}

// receiveEvents hands out notifications and requests of the server as they come, and ends with
// the last answer, whether or not the server then ends the stream.
func (s *session) receiveEvents(c *call, t *target, resp *http.Response) error {
	stream := newEvents(resp.Body)
	for !c.done() {
		e, err := stream.next()
		if err != nil {
			return s.unread(c, err)
		}
		if e.name != "" && e.name != "message" {
			continue
		}
		text, ok := compact(e.data)
		if !ok {
			s.log.say("passed over an event that is not JSON")
			continue
		}
		if text[0] == '[' {
			elements(text, func(one []byte) { err = errors.Join(err, s.deliver(c, t, resp, bytes.Clone(one))) })
		} else {
			err = s.deliver(c, t, resp, text)
		}
		if err != nil {
			return err
		}
	}
	// Servers end the stream with its answer, so the connection can mostly be kept.
	late := time.AfterFunc(afterAnswer, func() { c.cancel(errEnding) })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	return nil
}

// deliver hands out one message of a stream.
func (s *session) deliver(c *call, t *target, resp *http.Response, text []byte) error {
	if text[0] != '{' {
		s.log.say("passed over an event that is no message")
		return nil
	}
	m := parse(text)
	switch {
	case s.answer(c, m, text):
	case m.kind() == request || m.kind() == notification:
		if c.ctx.Err() == nil {
			s.out.write(text)
		}
	case m.anonymous():
		return s.refused(t, resp, text, unquote(field(m.fault, "message")))
	default:
		s.log.say("passed over an answer to another request")
	}
	return nil
}

// answer writes text if it answers a request of the call, under the id as the harness wrote it,
// and reports whether it did.
func (s *session) answer(c *call, m message, text []byte) bool {
	a := c.open(m)
	if a == nil {
		return false
	}
	s.out.answer(a, func() []byte {
		s.learn(c.message, m)
		return restore(text, m, a.id)
	})
	return true
}

// restore puts the id as it was asked into an answer that spells it otherwise, 1 for 1.0.
func restore(text []byte, m message, id []byte) []byte {
	if bytes.Equal(m.id, id) {
		return text
	}
	var b []byte
	b = append(b, text[:m.idAt]...)
	b = append(b, id...)
	return append(b, text[m.idAt+len(m.id):]...)
}

// learn keeps the version that an initialize negotiated, for the headers of what follows.
func (s *session) learn(asked, answer message) {
	if asked.method == methodInitialize && answer.result != nil {
		version := unquote(field(answer.result, "protocolVersion"))
		s.version.Store(&version)
	}
}

// receiveBatch answers a batch with a batch: the answers that came, and errors for the rest.
func (s *session) receiveBatch(c *call, text []byte) error {
	s.out.compose(func() []byte { return answerBatch(c, text) })
	return nil
}

// answerBatch claims every request in the call, and gives nil where nothing is left to be said.
func answerBatch(c *call, text []byte) []byte {
	var line []byte
	add := func(one []byte) { line = append(append(line, ','), one...) }
	elements(text, func(one []byte) {
		if one[0] != '{' {
			return
		}
		m := parse(one)
		if a := c.open(m); a != nil && a.claim() {
			add(restore(one, m, a.id))
		} else if m.anonymous() {
			add(one)
		}
	})
	for _, a := range c.asked {
		if a.claim() {
			add((&failure{message: "the ship's answer to the batch lacks this request. The call may have been done: look before you repeat it"}).line(a.id))
		}
	}
	if line == nil {
		return nil
	}
	line[0] = '['
	return append(line, ']')
}

// refused is the error for a body that answers nothing. said is the server's own text, if the
// body was a JSON-RPC error without an id.
func (s *session) refused(t *target, resp *http.Response, body []byte, said string) error {
	f := &failure{message: fmt.Sprintf("the ship answered HTTP %d without an answer to this request", resp.StatusCode)}
	if said != "" {
		f.message = fmt.Sprintf("the ship refused this request (HTTP %d): %s", resp.StatusCode, cut(printable(said), maxQuoted))
	}
	next := ". Run \"agent-mcp --check\" in the workspace to see what is wrong"
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		next = ". Ask the operator to run: ship token rotate " + s.link.id.Shell()
	case http.StatusRequestEntityTooLarge:
		next = ". Send less in one call"
	case http.StatusRequestTimeout:
		next = ". Nothing was done; call again"
	}
	f.message += next
	return f.quoting(resp, body, t.token.Reveal())
}

// unread is the error for an answer that broke off or is too long.
func (s *session) unread(c *call, err error) error {
	if errors.Is(err, errTooLong) || errors.Is(err, errEventTooLong) {
		return &failure{cause: err, message: err.Error() + ", the most that is passed on. The call was done; ask for less"}
	}
	return s.broken(c.ctx, err)
}

// readBody reads a whole body and closes it.
func readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if resp.ContentLength > maxMessageBytes {
		return nil, errTooLong
	}
	var b bytes.Buffer
	if resp.ContentLength > 0 {
		b.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(resp.Body, maxMessageBytes+1))
	if err == nil && b.Len() > maxMessageBytes {
		err = errTooLong
	}
	return b.Bytes(), err
}

// compact gives a JSON value on one line, in memory of its own, and false for anything else.
func compact(text []byte) ([]byte, bool) {
	var b bytes.Buffer
	b.Grow(len(text) + 1) // and the newline
	if json.Compact(&b, bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) != nil || b.Len() == 0 {
		return nil, false
	}
	return b.Bytes(), true
}
