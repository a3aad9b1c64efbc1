package github

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
)

const (
	maxLine = 2 << 10 // bytes of a line in an excerpt
	// rawLine is what is kept of a line until its credentials are masked. Of a line that is longer,
	// the last unsureLine bytes are not shown: what begins there may be half a credential.
	rawLine    = 4 << 10
	unsureLine = 1280 // more than the longest token takes in hexadecimal
	// stampRoom is kept beside it, since a line's time is taken off later.
	stampRoom = 64
	stampSize = len("2006-01-02T15:04:05")
)

// logLines reads a job's log line by line, in bounded memory whatever the length of a line. The
// slices that next gives are valid until it is called again.
type logLines struct {
	from *bufio.Reader
	kept []byte // of a line that is longer than the reader's buffer
	pem  bool   // within a private key

	stamp []byte // second of the current line, as 2006-01-02T15:04:05; of the last that had one
	text  []byte // what the line says, without its time
}

func newLogLines(r io.Reader) *logLines {
	return &logLines{from: bufio.NewReaderSize(r, 64<<10), kept: make([]byte, 0, rawLine+stampRoom)}
}

// next reads one line; false: the log has ended, or failed.
func (l *logLines) next() (bool, error) {
	line, err := l.from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.long(line)
	}
	if len(line) == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	l.split(line)
	return true, nil
}

// long reads a line that does not fit the buffer, and keeps its beginning, or that of what stands
// behind its last carriage return.
func (l *logLines) long(chunk []byte) ([]byte, error) {
	l.kept = l.kept[:0]
	err := bufio.ErrBufferFull
	for returned := false; ; {
		said := bytes.TrimRight(chunk, "\r\n")
		if i := bytes.LastIndexByte(said, '\r'); i >= 0 || returned && len(said) > 0 {
			l.kept, chunk = l.kept[:0], chunk[i+1:]
		}
		returned = bytes.HasSuffix(chunk, []byte("\r"))
		room := cap(l.kept) - len(l.kept)
		l.kept = append(l.kept, chunk[:min(room, len(chunk))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.kept, err
		}
		chunk, err = l.from.ReadSlice('\n')
	}
}

var (
	byteOrderMark = []byte("\uFEFF")
	pemBegin      = []byte("-----BEGIN ")
	pemEnd        = []byte("-----END ")
	maskedLine    = []byte(masked)
)

// split takes the time off the line, what a progress bar has overwritten, and the lines of a
// private key.
func (l *logLines) split(line []byte) {
	line = bytes.TrimPrefix(line, byteOrderMark)
	if stamped(line) {
		l.stamp = append(l.stamp[:0], line[:stampSize]...)
		line = line[bytes.IndexByte(line, 'Z')+1:]
		line = bytes.TrimPrefix(bytes.TrimPrefix(line, []byte(" ")), byteOrderMark)
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if bytes.IndexByte(line, '\r') >= 0 {
		line = bytes.TrimRight(line, "\r")
		line = line[bytes.LastIndexByte(line, '\r')+1:]
	}
	l.text = line[:min(len(line), rawLine)]
	l.hideKey()
}

// stamped says that a line begins with its time, such as 2006-01-02T15:04:05.1234567Z.
func stamped(line []byte) bool {
	if len(line) <= stampSize || line[4] != '-' || line[7] != '-' || line[10] != 'T' || line[13] != ':' || line[16] != ':' {
		return false
	}
	end := bytes.IndexByte(line[:min(len(line), stampSize+12)], 'Z')
	return end >= stampSize && len(bytes.Trim(line[stampSize:end], ".0123456789")) == 0
}

// hideKey masks what stands between the first and last line of a private key. Where the last line
// is missing, the first that cannot be part of a key ends it.
func (l *logLines) hideKey() {
	if !l.pem {
		if i := bytes.Index(l.text, pemBegin); i >= 0 && bytes.Contains(l.text[i:], []byte("PRIVATE KEY")) {
			l.pem = !bytes.Contains(l.text[i:], pemEnd)
		}
		return
	}
	switch {
	case bytes.Contains(l.text, pemEnd):
		l.pem = false
	case !keyLine(l.text):
		l.pem = false
		return
	}
	l.text = maskedLine
}

func keyLine(line []byte) bool {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("Proc-Type:")) || bytes.HasPrefix(line, []byte("DEK-Info:")) {
		return true
	}
	for _, c := range line {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=') {
			return false
		}
	}
	return true
}

// escapes are the sequences with which a terminal is steered (ECMA-48): with parameters, strings
// up to their end, and those of two characters.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// readable makes a kept line fit to be read: valid text without escapes and controls, without
// credentials (those that mask knows and those of known shapes), at most maxLine long.
func readable(line []byte, mask func(string) string) string {
	s := strings.ToValidUTF8(string(line), "\uFFFD")
	if strings.Contains(s, "\x1b") {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7F {
			return -1
		}
		return r
	}, s)
	s = maskText(mask(s))
	keep := maxLine
	if len(line) == rawLine { // it goes on
		keep = min(keep, max(len(s)-unsureLine, 0))
	}
	if len(s) <= keep {
		return s
	}
	return cutText(s, keep) + "…"
}
