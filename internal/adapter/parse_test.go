package adapter

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// inPieces reads size bytes at a time.
type inPieces struct {
	r    io.Reader
	size int
}

func (p inPieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.size)]) }

// referenceEvents reads a stream as the HTML standard has it, all at once and line by line.
func referenceEvents(text string) [][2]string {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	var found [][2]string
	var name string
	var data []string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if joined := strings.Join(data, "\n"); joined != "" {
				found = append(found, [2]string{name, joined})
			}
			name, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	return found
}

func FuzzEventsAreThoseOfTheStandard(f *testing.F) {
	for _, seed := range []string{
		"data: 1\n\n", "data: 1\r\n\r\ndata: 2\r\r", "event: x\ndata:1\ndata: 2\n\n", ":c\n\ndata\n\n", "\xef\xbb\xbfdata: 1\n\n",
		"data: 1\n", "id: 1\nretry: 5\nx\n\ndata: \xc3\xa9\n\n", "data: a\rdata: b\n\r", "data: \n\n", "\r\n\rdata: 1\n\ndata:\n\n", "data: 1\r\n\r",
		"event: x\r\ndata: 1\r\ndata: 2\r\n\r\n", "event: x\rdata: 1\rdata: 2\r\r",
	} {
		for _, size := range []int{1, 2, 3, 1000} {
			f.Add(seed, size)
		}
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		want := referenceEvents(text)
		stream := newEvents(inPieces{strings.NewReader(text), size})
		for i := 0; ; i++ {
			e, err := stream.next()
			if err != nil {
				if i != len(want) || err != io.EOF {
					t.Fatalf("%q in pieces of %d gave %d events and %v, want %d", text, size, i, err, len(want))
				}
				return
			}
			if i >= len(want) || want[i] != [2]string{e.name, string(e.data)} {
				t.Fatalf("%q in pieces of %d: event %d is %q %q, want %q", text, size, i, e.name, e.data, want)
			}
		}
	})
}

// TestAnEventIsThereWithItsBlankLine: not when the byte after it comes, which may be never.
func TestAnEventIsThereWithItsBlankLine(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\n\r", "\r\r"} {
		r, w := io.Pipe()
		stream := newEvents(r)
		go io.WriteString(w, "data: 1"+end)
		got := make(chan string, 1)
		go func() {
			e, _ := stream.next()
			got <- string(e.data)
		}()
		if text := <-got; text != "1" {
			t.Errorf("after %q the event is %q", end, text)
		}
		w.Close()
	}
}

func TestAnEndlessEventIsGivenUp(t *testing.T) {
	for name, piece := range map[string]string{"one line": "data: " + strings.Repeat("x", 1<<20), "many lines": "data: " + strings.Repeat("x", 1<<20) + "\n"} {
		stream := newEvents(repeating(piece))
		if _, err := stream.next(); err != errEventTooLong {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// repeating reads text over and over.
func repeating(text string) io.Reader {
	readers := make([]io.Reader, 40)
	for i := range readers {
		readers[i] = strings.NewReader(text)
	}
	return io.MultiReader(readers...)
}

// FuzzMessagesAreReadAsEncodingJSONDoes compares with a map, whose names are exact too.
func FuzzMessagesAreReadAsEncodingJSONDoes(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{ "id" : "a\"\\" , "x" : [ { "id" : 2 } , "}" , [ ] ] , "result" : { } }`, `{"ID":1,"id":2,"id":3}`, `{"\u0069d":1.50e+2}`,
		`{}`, `{"":{"a":[1,2,{"b":"\\"}]},"error":null}`, `{"id":-0,"method":5}`, `{"method":"\ud800","params":[]}`, "{\"a\":1\t,\n\"id\":true}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text)
		if !json.Valid(text) || text[0] != '{' {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		m := parse(text)
		for name, got := range map[string][]byte{"id": m.id, "params": m.params, "result": m.result, "error": m.fault} {
			if !bytes.Equal(got, want[name]) {
				t.Errorf("%s of %s is %s, want %s", name, text, got, want[name])
			}
		}
		var method string
		if json.Unmarshal(want["method"], &method) == nil && m.method != method {
			t.Errorf("method of %s is %q, want %q", text, m.method, method)
		}
		if m.id != nil && !bytes.HasPrefix(text[m.idAt:], m.id) {
			t.Errorf("id of %s does not stand at %d", text, m.idAt)
		}
		modernOf(m.params)
		idKey(m.id)
	})
}

// FuzzALongLineTellsTheSameId: what skim finds in pieces is what parse finds in the whole.
func FuzzALongLineTellsTheSameId(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"method":"m","params":{"id":2,"a":"\"id\":3,"},"id":"x\\"}`, `{"id":1,"id":[2]}`, `{"a":["id",{"id":1}]}`, ` { "id" : 1.5 , "method" : "a b" } `,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		var s skim
		for rest := text; len(rest) > 0 && size > 0; {
			n := min(size, len(rest))
			s.read(rest[:n])
			rest = rest[n:]
		}
		text = bytes.TrimSpace(text)
		if !json.Valid(text) || text[0] != '{' || bytes.Contains(text, []byte(`\u`)) || len(text) > maxToken || size < 1 {
			return
		}
		m := parse(text)
		if _, ok := idKey(m.id); ok && !bytes.Equal(m.id, s.id) {
			t.Errorf("the id of %s is %s, want %s", text, s.id, m.id)
		}
		if got := unquote(s.method); got != m.method {
			t.Errorf("the method of %s is %q, want %q", text, got, m.method)
		}
	})
}

func FuzzElementsAreThoseOfTheArray(f *testing.F) {
	for _, seed := range []string{`[]`, `[1]`, ` [ {"a":[1,2]} , "]," ,null ] `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text)
		if !json.Valid(text) || text[0] != '[' {
			return
		}
		var want []json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		i := 0
		elements(text, func(one []byte) {
			if i >= len(want) || !bytes.Equal(one, want[i]) {
				t.Errorf("element %d of %s is %s", i, text, one)
			}
			i++
		})
		if i != len(want) {
			t.Errorf("%s has %d elements, want %d", text, i, len(want))
		}
	})
}

func TestIdsAreTheSameWhereTheirValuesAre(t *testing.T) {
	same := [][]string{{"1", "1.0", "1e0", "10e-1"}, {`"1"`, `"\u0031"`}, {`"a/b"`, `"a\/b"`}, {"9007199254740993"}, {"9007199254740992"}, {`""`}, {"0", "0.0"}}
	for i, group := range same {
		for j, other := range same {
			a, ok := idKey([]byte(group[0]))
			for _, id := range other {
				if b, ok2 := idKey([]byte(id)); !ok || !ok2 || (a == b) != (i == j) {
					t.Errorf("the keys of %s and %s are %q and %q", group[0], id, a, b)
				}
			}
		}
	}
	for _, id := range []string{"", "null", "true", "{}", "[1]"} {
		if key, ok := idKey([]byte(id)); ok {
			t.Errorf("%s is an id, with the key %q", id, key)
		}
	}
}
