package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// smuggled are byte sequences about whose ends HTTP readers have disagreed.
func smuggled() []string {
	good := seed{posted(), statusGet}.wire()
	chunks := "2b\r\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}   ` + "\r\n0\r\n\r\n"
	return []string{
		good, good + good, good[:len(good)-4], good + "\r\n\r\n" + good, strings.ReplaceAll(good, "\r\n", "\n"), strings.Replace(good, "\r\n", "\r", 1),
		posted("Transfer-Encoding: chunked") + "\r\n" + chunks, posted("Transfer-Encoding: chunked") + "\r\n" + chunks + good,
		posted("Transfer-Encoding: chunked", "Content-Length: 3") + "\r\n" + chunks, posted("Content-Length: 43", "Transfer-Encoding: chunked, identity") + "\r\n" + chunks,
		posted("Transfer-Encoding : chunked") + "\r\n" + chunks, posted("Transfer-Encoding:\x0bchunked") + "\r\n" + chunks, posted("Transfer-Encoding: chunked") + "\r\nfffffffffffffffff\r\nx",
		posted("Transfer-Encoding: chunked") + "\r\n5;a=\"\r\n\r\n" + good, posted("Transfer-Encoding: chunked", "Trailer: Authorization") + "\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
		posted("Content-Length: 5", "Content-Length: 6") + "\r\n" + statusGet, posted("Content-Length: +5") + "\r\n" + statusGet, posted("Content-Length: 0") + "\r\n" + good,
		posted("Content-Length: 99999999999999999999") + "\r\n" + statusGet, posted("Content-Length: 2000000") + "\r\n" + statusGet, posted("Content-Length: -1") + "\r\n",
		posted("X: a", " folded: b") + "\r\n", posted("X: a\x00b") + "\r\n", posted("Expect: 100-continue", "Content-Length: 2") + "\r\n{}", posted("Expect: more") + "\r\n",
		posted("Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA") + "\r\n", posted("Connection: Authorization, close", "Content-Length: 2") + "\r\n{}",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "GET /\r\n\r\n",
		strings.Replace(good, "HTTP/1.1", "HTTP/1.0", 1), strings.Replace(good, "HTTP/1.1", "HTTP/9.9", 1), strings.Replace(good, "Host: 127.0.0.1\r\n", "", 1), strings.Replace(good, "POST /", "POST http://127.0.0.1/", 1),
	}
}

// FuzzWire sends any bytes over a real connection and reads what comes back to its end: no more
// answers than there are requests, none of them a panic's, and the port serves on.
func FuzzWire(f *testing.F) {
	for _, s := range talks(f) {
		f.Add([]byte(s.wire()))
	}
	for _, text := range smuggled() {
		f.Add([]byte(text))
	}
	for _, body := range nasty() {
		f.Add([]byte(seed{posted(), body}.wire()))
	}
	for _, head := range heads() {
		f.Add([]byte(seed{head, statusGet}.wire()))
	}
	p := fuzzed(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		defer p.forget()
		requests, whole := readRequests(input)
		output := p.overWire(t, []byte(p.authorized(string(input))))
		if p.log.String() != "" && strings.Contains(p.log.String(), "panicked") {
			t.Fatalf("%q: %s", input, p.log)
		}
		p.kept(t, string(input), string(output))
		from := bufio.NewReader(bytes.NewReader(output))
		for i := 0; ; i++ {
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
					t.Fatalf("%q was answered with %q: %v", input, output, err)
				}
				break
			}
			if i > len(requests) || i == len(requests) && whole {
				t.Fatalf("%q holds %d requests and has more answers: %q", input, len(requests), output)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil && (i >= len(requests) || requests[i].Method != http.MethodHead) {
				t.Fatalf("%q: an answer breaks off: %q", input, output)
			}
			if i < len(requests) && resp.StatusCode != http.StatusContinue {
				wired(t, string(input), requests[i], resp, string(body))
			}
			if i < len(requests) && requests[i].Method == http.MethodHead || resp.StatusCode == http.StatusContinue {
				break // what follows cannot be told apart from here
			}
		}
		p.serves(t, string(input))
	})
}

// wired looks at one answer. net/http itself refuses what is not HTTP, in plain text and without
// another request on that connection.
func wired(t *testing.T, input string, r *http.Request, resp *http.Response, body string) {
	t.Helper()
	if resp.StatusCode == http.StatusInternalServerError {
		t.Fatalf("%q was answered with 500 %s", input, body)
	}
	kind := resp.Header.Get("Content-Type")
	if resp.Close && (kind == "text/plain; charset=utf-8" || kind == "") && resp.Header.Get("X-Request-Id") == "" && resp.Header.Get("Date") == "" {
		return
	}
	typed(t, input, reaches(r), resp.Header, body)
}

// readRequests reads input as HTTP requests. It is not whole where the last one is none, or breaks
// off.
func readRequests(input []byte) (found []*http.Request, whole bool) {
	from := bufio.NewReader(bytes.NewReader(input))
	for {
		r, err := http.ReadRequest(from)
		if err != nil {
			return found, err == io.EOF
		}
		found = append(found, r)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return found, false
		}
		if r.Method == http.MethodPost {
			// RFC 9112 §2.2: old clients end the body of a POST with a line end. net/http
			// looks at four bytes.
			peeked, _ := from.Peek(4)
			_, _ = from.Discard(len(peeked) - len(bytes.TrimLeft(peeked, "\r\n")))
		}
	}
}

// overWire sends input over a connection of its own and closes its half, and gives all that comes
// back. A server that stops reading may end the connection while more is sent.
func (p *port) overWire(t *testing.T, input []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(input)
	_ = c.(*net.TCPConn).CloseWrite()
	output, err := io.ReadAll(c)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Fatalf("%q: the connection stays open after %q", input, output)
	}
	return output
}
