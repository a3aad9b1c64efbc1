package adapter

import (
	"bytes"
	"errors"
	"io"
)

var errEventTooLong = errors.New("an event is longer than 32 MiB")

// event is one server-sent event with data.
type event struct {
	name string // "" means "message"
	data []byte // valid until the next call of events.next
}

// events reads a stream of server-sent events as the HTML standard has it (§9.2.6): lines end
// with LF, CRLF or CR, and a blank line ends an event. Comments, id, retry and unknown fields
// are passed over. An event is given as soon as its blank line is there.
type events struct {
	r     io.Reader
	buf   []byte // what was read and not yet used
	space []byte // the memory under buf
	err   error  // the reader's; buf is still used up
	begun bool
	cr    bool // the last line ended with CR, so an LF that follows belongs to it

	line []byte // the line begun in an earlier piece
	name string
	data []byte
	any  bool // the event has a data field
}

func newEvents(r io.Reader) *events { return &events{r: r, space: make([]byte, 16<<10)} }

// next gives the next event that has data. At the end of the stream it gives the reader's
// error; an event without its blank line is dropped, as the standard says.
func (e *events) next() (event, error) {
	e.name, e.data, e.any = "", e.data[:0], false
	for {
		line, err := e.readLine()
		if err != nil {
			return event{}, err
		}
		if len(line) > 0 {
			e.field(line)
			continue
		}
		if e.any && len(e.data) > 1 {
			return event{name: e.name, data: e.data[:len(e.data)-1]}, nil
		}
		e.name, e.data, e.any = "", e.data[:0], false
	}
}

// field takes in a line that is not blank. A comment is a field without a name.
func (e *events) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.any = true
		e.data = append(append(e.data, value...), '\n')
	case "event":
		e.name = string(value)
	}
}

// readLine gives the next line without its end, valid until the next call.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if err := e.fill(); err != nil {
			return nil, err
		}
		i := bytes.IndexAny(e.buf, "\r\n")
		if i < 0 {
			e.line = append(e.line, e.buf...)
			e.buf = nil
			continue
		}
		line := e.buf[:i]
		e.cr = e.buf[i] == '\r'
		e.buf = e.buf[i+1:]
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		return e.start(line), nil
	}
}

// start drops the byte order mark that may begin a stream.
func (e *events) start(line []byte) []byte {
	if e.begun {
		return line
	}
	e.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// fill sees to it that buf is not empty and does not begin with the second half of a CRLF.
func (e *events) fill() error {
	for {
		if e.cr && len(e.buf) > 0 {
			e.cr = false
			e.buf = bytes.TrimPrefix(e.buf, []byte("\n"))
		}
		switch {
		case len(e.line)+len(e.data) > maxMessageBytes:
			return errEventTooLong
		case len(e.buf) > 0:
			return nil
		case e.err != nil:
			return e.err
		}
		var n int
		n, e.err = e.r.Read(e.space)
		e.buf = e.space[:n]
	}
}
