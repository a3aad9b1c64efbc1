package adapter_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// exchange is one request, what the far end answers, and what the harness must read.
type exchange struct {
	reply func(w http.ResponseWriter, r *http.Request, p posted)

	want  []string // the lines, exactly; the last is the answer to id 1
	fails string   // or: an error of the adapter's own that says this
	data  string   // and quotes this of the body
	// Of an error: the HTTP status in its data, 0 for none, and Retry-After.
	status, retry int
}

const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`

// TestEveryAnswerReachesTheHarness is what an MCP server may answer with, in every form that
// HTTP and server-sent events allow.
func TestEveryAnswerReachesTheHarness(t *testing.T) {
	t.Parallel()
	ok := answered("1")
	big := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("x", 5<<20) + `"}}`
	run(t, map[string]exchange{
		"sse-lf":              {reply: sse("event: message\ndata: " + ok + "\n\n"), want: []string{ok}},
		"sse-crlf":            {reply: sse("event: message\r\ndata: " + ok + "\r\n\r\n"), want: []string{ok}},
		"sse-cr":              {reply: sse("event: message\rdata: " + ok + "\r\r"), want: []string{ok}},
		"sse-crlf-split":      {reply: sse("data: "+ok+"\r", "\n\r", "\n"), want: []string{ok}},
		"sse-multiline":       {reply: sse("data: {\"jsonrpc\":\"2.0\",\ndata:  \"id\":1,\ndata: \"result\":{\"ok\":true}}\n\n"), want: []string{ok}},
		"sse-crlf-multiline":  {reply: sse("data: {\"jsonrpc\":\"2.0\",\r", "\ndata: \"id\":1,\r\ndata: \"result\":{\"ok\":true}}\r\n\r\n"), want: []string{ok}},
		"sse-comment":         {reply: sse(": ping\n\n:\r\n\r\n:\n", "data: "+ok+"\n\n"), want: []string{ok}},
		"sse-nospace":         {reply: sse("data:" + ok + "\n\n"), want: []string{ok}},
		"sse-idretry":         {reply: sse("id: 7\nretry: 10\ndata:\n\n", "unknown\nid: 8\ndata: "+ok+"\n\n"), want: []string{ok}},
		"sse-other-event":     {reply: sse("event: ping\ndata: {\"a\":1}\n\n", "data: "+ok+"\n\n"), want: []string{ok}},
		"sse-not-json":        {reply: sse("data: hello\n\n", "data: "+ok+"\n\n"), want: []string{ok}},
		"sse-byte-order-mark": {reply: sse("\xef\xbb\xbfdata: " + ok + "\n\n"), want: []string{ok}},
		"sse-progress":        {reply: sse("data: "+progress+"\n\n", "data: "+ok+"\n\n"), want: []string{progress, ok}},
		"sse-foreign-answer":  {reply: sse("data: "+answered("2")+"\n\n", "data: "+ok+"\n\n"), want: []string{ok}},
		"sse-after-answer":    {reply: sse("data: "+ok+"\n\n", "data: "+progress+"\n\n"), want: []string{ok}},
		"sse-split-utf8": {
			reply: sse("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"h\xc3", "\xa9\"}}\n\n"),
			want:  []string{`{"jsonrpc":"2.0","id":1,"result":{"t":"hé"}}`},
		},
		"sse-big":         {reply: sse("data: " + big + "\n\n"), want: []string{big}},
		"sse-status-4xx":  {reply: status(400, "text/event-stream", "data: "+ok+"\n\n"), want: []string{ok}},
		"json":            {reply: json200(ok), want: []string{ok}},
		"json-pretty":     {reply: json200("{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 1,\n  \"result\": { \"ok\": true }\n}\n"), want: []string{ok}},
		"json-charset":    {reply: status(200, "Application/JSON; charset=utf-8", ok), want: []string{ok}},
		"json-no-type":    {reply: status(200, "", ok), want: []string{ok}},
		"json-gzip":       {reply: gzipped(ok), want: []string{ok}},
		"json-big":        {reply: json200(big), want: []string{big}},
		"json-byte-order": {reply: json200("\xef\xbb\xbf" + ok), want: []string{ok}},
		"json-numbers": {
			reply: json200(`{"result":{"n":1.0,"m":9007199254740993,"e":1E400,"u":"\u2028/\/"},"id":1,"jsonrpc":"2.0"}`),
			want:  []string{`{"result":{"n":1.0,"m":9007199254740993,"e":1E400,"u":"\u2028/\/"},"id":1,"jsonrpc":"2.0"}`},
		},
		"http-404-jsonrpc": {
			reply: status(404, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`),
			want:  []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`},
		},
		"http-400-modern-error": {
			reply: status(400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m","data":{"a":1}}}`),
			want:  []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m","data":{"a":1}}}`},
		},
		"http-401-jsonrpc": {
			reply: status(401, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}`),
			want:  []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}`},
		},
	})
}

// TestEveryFailureIsOneErrorUnderTheRequestsID is what else a far end may do to a request.
func TestEveryFailureIsOneErrorUnderTheRequestsID(t *testing.T) {
	t.Parallel()
	refusal := func(code int, id string) func(http.ResponseWriter, *http.Request, posted) {
		return status(code, "application/json", `{"jsonrpc":"2.0",`+id+`"error":{"code":-32600,"message":"larger than 1 MiB"}}`)
	}
	run(t, map[string]exchange{
		"sse-truncated":        {reply: sse("data: {\"jsonrpc\":"), fails: "broke off"},
		"sse-no-blank-line":    {reply: sse("data: " + answered("1") + "\n"), fails: "broke off"},
		"sse-empty":            {reply: sse(""), fails: "broke off"},
		"sse-refusal":          {reply: sse("data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"go away\"}}\n\n"), fails: "go away", status: 200, data: "go away"},
		"http-500-html":        {reply: status(500, "text/html", "<html>oops</html>"), fails: "HTTP 500", status: 500, data: "<html>oops"},
		"http-403":             {reply: refusal(403, ""), fails: "HTTP 403): larger than 1 MiB", status: 403, data: "-32600"},
		"http-405":             {reply: refusal(405, `"id":null,`), fails: "HTTP 405): larger", status: 405, data: "-32600"},
		"http-413":             {reply: refusal(413, `"id":null,`), fails: "HTTP 413): larger than 1 MiB. Send less in one call", status: 413, data: "-32600"},
		"http-401":             {reply: status(401, "text/plain", "no"), fails: "ship activate r/w", status: 401, data: "no"},
		"http-404-router":      {reply: status(404, "text/plain", "404 page not found"), fails: "HTTP 404", status: 404, data: "page not found"},
		"http-429":             {reply: with(status(429, "text/plain", "slow"), "Retry-After", "7"), fails: "HTTP 429", status: 429, data: "slow", retry: 7},
		"http-503":             {reply: with(status(503, "text/plain", "later"), "Retry-After", "3"), fails: "HTTP 503", status: 503, data: "later", retry: 3},
		"redirect":             {reply: with(status(307, "", ""), "Location", "/elsewhere"), fails: "HTTP 307", status: 307},
		"empty-200":            {reply: status(200, "application/json", ""), fails: "HTTP 200", status: 200},
		"html-200":             {reply: status(200, "text/html", "<html>"), fails: "HTTP 200", status: 200, data: "<html>"},
		"nonrpc-200":           {reply: json200(`{"hello":"world"}`), fails: "HTTP 200", status: 200, data: "world"},
		"no-version-200":       {reply: json200(`{"id":1,"result":{}}`), fails: "HTTP 200", status: 200, data: "result"},
		"no-outcome-200":       {reply: json200(`{"jsonrpc":"2.0","id":1}`), fails: "HTTP 200", status: 200, data: "2.0"},
		"array-200":            {reply: json200(`[` + answered("1") + `]`), fails: "HTTP 200", status: 200, data: "["},
		"foreign-id-200":       {reply: json200(answered("2")), fails: "HTTP 200", status: 200, data: "true"},
		"string-id-200":        {reply: json200(answered(`"1"`)), fails: "HTTP 200", status: 200, data: "true"},
		"notification-200":     {reply: json200(progress), fails: "HTTP 200", status: 200, data: "progress"},
		"invalid-json-200":     {reply: json200(answered("1") + "}"), fails: "HTTP 200", status: 200, data: "}"},
		"accepted-for-request": {reply: status(202, "", ""), fails: "HTTP 202", status: 202},
		"no-content":           {reply: status(204, "", ""), fails: "HTTP 204", status: 204},
		"reset-midbody":        {reply: cutOff("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"json"), fails: "broke off"},
		"reset-mid-chunk":      {reply: cutOff("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n{\"json"), fails: "broke off"},
		"reset-before-answer":  {reply: cutOff(""), fails: "broke off"},
		"not-http":             {reply: cutOff("SSH-2.0-OpenSSH_9.2\r\n"), fails: "broke off"},
		"too-long-200":         {reply: endless(200), fails: "longer than 32 MiB"},
		"long-body":            {reply: status(500, "text/plain", strings.Repeat("é", 4000)), fails: "HTTP 500", status: 500, data: "éé"},
		"control-characters":   {reply: status(400, "application/json", `{"jsonrpc":"2.0","error":{"code":1,"message":"a\u001b[2Jb"}}`), fails: "a [2Jb", status: 400},
		"invalid-utf8":         {reply: status(500, "text/plain", "a\xffb"), fails: "HTTP 500", status: 500, data: "a\uFFFDb"},
	})
}

// run holds each case to one answer for the request and none for what else the far end said, and
// the next call to work.
func run(t *testing.T, cases map[string]exchange) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.id == "1" {
					c.reply(w, r, p)
					return
				}
				result(w, r, p)
			})
			w := newWorkspace(t, f.port())
			run := w.start
			if strings.HasSuffix(name, "-big") || strings.HasPrefix(name, "too-long") {
				run = w.startPlain
			}
			h := run(t)
			h.sendLine(call("1"))
			h.want(c.want...)
			if c.fails != "" {
				checkFault(t, h.fault("1", -32603, c.fails), c)
			}
			h.alive()
			h.end()
			if n := len(f.posts()); n != 2 {
				t.Errorf("the far end got %d requests for two calls", n)
			}
		})
	}
}

func checkFault(t *testing.T, got fault, c exchange) {
	t.Helper()
	data := got.Error.Data
	switch {
	case c.status == 0 && data == nil:
	case c.status == 0 || data == nil || data.Status != c.status || data.RetryAfter != c.retry:
		t.Errorf("data is %+v, want status %d and retry_after_seconds %d", data, c.status, c.retry)
	case !strings.Contains(data.Body, c.data) || len(data.Body) > 1<<10:
		t.Errorf("data quotes %d bytes, %.80q; want at most 1 KiB with %q", len(data.Body), data.Body, c.data)
	}
	if last := got.Error.Message[strings.LastIndexAny(got.Error.Message, ".:")+1:]; len(last) < 10 {
		t.Errorf("the message says nothing of what to do next: %s", got.Error.Message)
	}
}

// sse sends pieces of a stream, each in a packet of its own as far as one can tell.
func sse(pieces ...string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, _ *http.Request, _ posted) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for i, p := range pieces {
			if i > 0 {
				time.Sleep(5 * time.Millisecond) // for the edge between two packets
			}
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

func status(code int, contentType, body string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, _ *http.Request, _ posted) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func json200(body string) func(http.ResponseWriter, *http.Request, posted) {
	return status(200, "application/json", body)
}

func with(reply func(http.ResponseWriter, *http.Request, posted), name, value string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, r *http.Request, p posted) {
		w.Header().Set(name, value)
		reply(w, r, p)
	}
}

func gzipped(body string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, r *http.Request, _ posted) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			http.Error(w, "no gzip was offered", http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, body)
		z.Close()
	}
}

// cutOff writes raw bytes and resets the connection.
func cutOff(raw string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, _ *http.Request, _ posted) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(c, raw)
		c.Close()
	}
}

// endless answers with JSON that goes on until nobody reads it, 200 MiB at most.
func endless(code int) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, _ *http.Request, _ posted) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":"`)
		piece := []byte(strings.Repeat("x", 1<<20))
		for range 200 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
}
