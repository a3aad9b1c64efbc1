package adapter

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxMessageBytes bounds one message in either direction. What is longer is answered with an
// error, and the session goes on.
const maxMessageBytes = 32 << 20

// lines reads the harness's messages, one a line.
type lines struct {
	r     *bufio.Reader
	begun bool
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 32<<10)} }

// next gives the next line that is not blank, trimmed, in memory of its own; the last one may
// lack its newline. Of a line over maxMessageBytes it gives only what skim found. The error is
// the reader's, io.EOF at the end.
func (l *lines) next() (line []byte, long *skim, err error) {
	for {
		line, long, err = l.read()
		if !l.begun {
			l.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.Trim(line, " \t\r\n")
		if len(line) > 0 || long != nil {
			return line, long, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

func (l *lines) read() (line []byte, long *skim, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case long != nil:
			long.read(part)
		case len(line)+len(part) > maxMessageBytes:
			long = &skim{}
			long.read(line)
			long.read(part)
			line = nil
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// skim reads id and method of an object that is too long to keep, in pieces. It takes for
// granted that the JSON is valid; of one that isn't, it may find either, or nothing.
type skim struct {
	id, method []byte

	depth           int
	quoted, escaped bool
	name, token     []byte // of the member at depth 1 that is being read
}

// maxToken is longer than any id or method that makes sense.
const maxToken = 1 << 10

func (s *skim) read(part []byte) {
	for len(part) > 0 {
		n := 1
		switch {
		case s.escaped:
			s.escaped = false
			s.keep(part[:1])
		case s.quoted:
			if n = bytes.IndexAny(part, `"\`) + 1; n == 0 {
				s.keep(part)
				return
			}
			s.keep(part[:n])
			s.escaped = part[n-1] == '\\'
			s.quoted = s.escaped
		default:
			s.step(part[:1])
		}
		part = part[n:]
	}
}

func (s *skim) step(c []byte) {
	switch c[0] {
	case ' ', '\t', '\r', '\n':
		return
	case '"':
		s.quoted = true
	case '{', '[':
		s.depth++
		if s.depth == 1 {
			return
		}
	case '}', ']':
		s.depth--
		if s.depth == 0 {
			s.member()
			return
		}
	case ':':
		if s.depth == 1 {
			s.name, s.token = s.token, nil
			return
		}
	case ',':
		if s.depth == 1 {
			s.member()
			return
		}
	}
	s.keep(c)
}

func (s *skim) keep(part []byte) {
	if s.depth == 1 && len(s.token) <= maxToken {
		s.token = append(s.token, part[:min(len(part), maxToken+1)]...)
	}
}

func (s *skim) member() {
	switch {
	case len(s.token) > maxToken:
	case string(s.name) == `"id"`:
		s.id = s.token
	case string(s.name) == `"method"`:
		s.method = s.token
	}
	s.name, s.token = nil, nil
}
