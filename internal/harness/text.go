package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// span is a run of bytes that we added.
type span struct {
	At  int `json:"at"`
	Len int `json:"len"`
}

// addition is text that goes in at an offset.
type addition struct {
	at   int
	text string
}

// add puts additions into data, which have ascending offsets of the data as it was, and says
// where each stands then. Taking the spans out from the last to the first gives data back.
func add(data []byte, additions ...addition) ([]byte, []span) {
	out := make([]byte, 0, len(data)+256)
	var spans []span
	from := 0
	for _, a := range additions {
		out = append(out, data[from:a.at]...)
		spans = append(spans, span{At: len(out), Len: len(a.text)})
		out = append(out, a.text...)
		from = a.at
	}
	return append(out, data[from:]...), spans
}

// takeOut undoes add.
func takeOut(data []byte, spans []span) ([]byte, error) {
	out := bytes.Clone(data)
	for i := len(spans) - 1; i >= 0; i-- {
		s := spans[i]
		if s.At < 0 || s.Len < 0 || s.At > len(out) || s.Len > len(out)-s.At {
			return nil, fmt.Errorf("the record says that %d bytes were added at %d of %d", s.Len, s.At, len(out))
		}
		out = append(out[:s.At], out[s.At+s.Len:]...)
	}
	return out, nil
}

// cut takes data[from:to] out.
func cut(data []byte, from, to int) []byte {
	return append(bytes.Clone(data[:from]), data[to:]...)
}

// newline is the end of a line as data has it.
func newline(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart is the offset of the line that holds at.
func lineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

// lineEnd is the offset behind the line that holds at, its newline included.
func lineEnd(data []byte, at int) int {
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(data)
}

// indent is the white space at the start of the line that holds at.
func indent(data []byte, at int) string {
	line := data[lineStart(data, at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

const mark = "\xef\xbb\xbf" // a byte order mark, which no parser of ours takes

// bare gives data without its byte order mark, and how long that was.
func bare(data []byte) ([]byte, int) {
	rest := bytes.TrimPrefix(data, []byte(mark))
	return rest, len(data) - len(rest)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digest is a hash of what v means, however it is written.
func digest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return hash(raw), nil
}

// compact writes v as JSON in the order of its fields.
func compact(v any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // a path with & stays readable
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
