package adapter_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestEveryLineOfInputIsUnderstood is what a harness may write, and what must reach the far end.
func TestEveryLineOfInputIsUnderstood(t *testing.T) {
	t.Parallel()
	big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"t":"` + strings.Repeat("y", 17<<20) + `"}}`
	odd := `{"params":{"_x":[1.0,2e2,{"a":null}],"u":"\u00e9é` + "\u2028" + `"},"method":"tools/call","id":1,"jsonrpc":"2.0","extra":9007199254740993}`
	for name, c := range map[string]struct{ input, want string }{
		"plain":          {call("1") + "\n", call("1")},
		"stdin-crlf":     {call("1") + "\r\n", call("1")},
		"stdin-blank":    {"\n \t\r\n\n" + call("1") + "\n\n", call("1")},
		"stdin-indented": {"  " + call("1") + "  \n", call("1")},
		"stdin-bom":      {"\xef\xbb\xbf" + call("1") + "\n", call("1")},
		"stdin-u2028":    {strings.Replace(call("1"), `"t"`, "\"t\u2028\u2029\"", 1) + "\n", strings.Replace(call("1"), `"t"`, "\"t\u2028\u2029\"", 1)},
		"stdin-big":      {big + "\n", big},
		"body-verbatim":  {odd + "\n", odd},
		"escaped-names":  {`{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"ping"}` + "\n", `{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"ping"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The far end answers id 1 whatever it reads.
			f := newFar(t, func(w http.ResponseWriter, _ *http.Request, _ posted) { io.WriteString(w, answered("1")) })
			w := newWorkspace(t, f.port())
			run := w.start
			if len(c.input) > long {
				run = w.startPlain
			}
			h := run(t)
			h.send(c.input)
			h.want(answered("1"))
			h.end()
			if got := f.posts(); len(got) != 1 || got[0].body != c.want {
				t.Errorf("the far end got %d bodies, the first %.200q; want one, %.200q", len(got), got[0].body, c.want)
			}
		})
	}
}

func TestIdsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	for _, id := range []string{`"abc"`, "9007199254740993", "-7", "0", "7", `"7"`, `"9007199254740993"`, "1.0", "1e2", `""`, `"\u00e9\/"`, `"é"`} {
		h.sendLine(call(id))
		h.want(answered(id))
	}
	h.end()
}

// TestAnIdSpeltAnewComesBackAsItWasAsked is a server that decodes ids and encodes them again.
func TestAnIdSpeltAnewComesBackAsItWasAsked(t *testing.T) {
	t.Parallel()
	anew := map[string]string{"1.0": "1", `"a\/b"`: `"a/b"`, `"\u00e9"`: `"é"`, "1e2": "100"}
	f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		p.id = anew[p.id]
		result(w, r, p)
	})
	h := newWorkspace(t, f.port()).start(t)
	for id := range anew {
		h.sendLine(call(id))
		h.want(answered(id))
	}
	h.end()
}

func TestLinesThatAreNoRequestAreRefusedAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line, id string
		code     int
	}{
		"stdin-junk":      {`hello {"id":1}`, "null", -32700},
		"stdin-half":      {`{"jsonrpc":"2.0","id":1,"method":`, "null", -32700},
		"stdin-two":       {call("1") + call("2"), "null", -32700},
		"stdin-nul":       {"\x00", "null", -32700},
		"stdin-deep":      {strings.Repeat("[", 20000), "null", -32700},
		"number":          {"5", "null", -32600},
		"string":          {`"hello"`, "null", -32600},
		"null":            {"null", "null", -32600},
		"empty-object":    {"{}", "null", -32600},
		"empty-batch":     {"[]", "null", -32600},
		"no-method":       {`{"jsonrpc":"2.0","id":5}`, "5", -32600},
		"method-a-number": {`{"jsonrpc":"2.0","id":5,"method":6}`, "5", -32600},
		"id-null":         {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600},
		"id-true":         {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", -32600},
		"id-object":       {`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "null", -32600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, nil)
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(c.line)
			h.fault(c.id, c.code, "")
			h.alive()
			if said := h.end(); strings.Count(said, "\n") != 1 {
				t.Errorf("standard error holds %q, want one line", said)
			}
			if n := len(f.posts()); n != 1 {
				t.Errorf("the far end got %d requests, want only the one after the bad line", n)
			}
		})
	}
}

// TestAnErrorWithoutARequestHasNoIdWhereNullIsNone: since the revision 2025-11-25 an error whose
// request cannot be told has no id; before, JSON-RPC's null.
func TestAnErrorWithoutARequestHasNoIdWhereNullIsNone(t *testing.T) {
	t.Parallel()
	f := newFar(t, negotiating("2025-11-25"))
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(initialize("0"))
	h.line()
	h.sendLine("junk")
	h.fault("", -32700, "not JSON")
	h.end()
}

func TestLinesBeyondTheBoundAreAnsweredWithAnError(t *testing.T) {
	t.Parallel()
	filling := strings.Repeat("z", 33<<20)
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).startPlain(t)
	h.sendLine(`{"method":"tools/call","params":{"id":8,"t":"\"id\":9,` + filling + `"},"jsonrpc":"2.0","id":77}`)
	h.fault("77", -32600, "32 MiB")
	h.sendLine(`{"jsonrpc":"2.0","method":"notifications/x","params":{"id":8,"t":"` + filling + `"}}`)
	h.alive()
	if said := h.end(); len(said) > 1000 {
		t.Errorf("standard error holds %d bytes", len(said))
	}
	if n := len(f.posts()); n != 1 {
		t.Errorf("the far end got %d requests, want one", n)
	}
}

func TestTheLastLineNeedsNoNewline(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	h.send(call("1"))
	h.in.Close()
	h.want(answered("1"))
	h.end()
}

// negotiating answers initialize with a version, and all else as result does.
func negotiating(version string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method == "initialize" {
			io.WriteString(w, `{"jsonrpc":"2.0","id":`+p.id+`,"result":{"protocolVersion":"`+version+`"}}`)
			return
		}
		result(w, r, p)
	}
}

func TestBatchesAreRefusedOneByOneWhereTheRevisionHasNone(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	batch := "[" + call("1") + `,{"jsonrpc":"2.0","method":"notifications/x"}, ` + call(`"b"`) + ",5]"
	for _, first := range []string{"", initialize("0")} {
		if first != "" {
			h.sendLine(first)
			h.line()
		}
		h.sendLine(batch)
		h.fault("1", -32600, "batch")
		h.fault(`"b"`, -32600, "batch")
	}
	h.sendLine(`[{"jsonrpc":"2.0","method":"notifications/x"}]`)
	h.alive()
	h.end()
	if n := len(f.posts()); n != 2 {
		t.Errorf("the far end got %d requests, want initialize and the last", n)
	}
}

// TestABatchOf20250326IsForwardedAndEachRequestInItAnswered covers the one revision that has
// batches: what the server leaves out is answered with an error.
func TestABatchOf20250326IsForwardedAndEachRequestInItAnswered(t *testing.T) {
	t.Parallel()
	const notification = `{"jsonrpc":"2.0","method":"notifications/x"}`
	for name, c := range map[string]struct {
		batch string
		reply func(http.ResponseWriter, *http.Request, posted)
		want  []string
		fails []string // ids, each with a line of its own
	}{
		"answered": {
			"[" + call("1") + "," + notification + "," + call("2.0") + "]",
			json200("[ " + answered("2") + ",\n" + answered("1") + "]"),
			[]string{"[" + answered("2.0") + "," + answered("1") + "]"},
			nil,
		},
		"one-missing-and-one-foreign": {
			"[" + call("1") + "," + call("2") + "]",
			json200("[" + answered("3") + "," + answered("1") + `,{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}]`),
			[]string{"[" + answered("1") + `,{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}},` +
				`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the ship's answer to the batch lacks this request. The call may have been done: look before you repeat it"}}]`},
			nil,
		},
		"streamed": {
			"[" + call("1") + "," + call("2") + "]",
			sse("data: "+progress+"\n\n", "data: ["+answered("2")+"]\n\n", "data: "+answered("1")+"\n\n"),
			[]string{progress, answered("2"), answered("1")},
			nil,
		},
		"refused":            {"[" + call("1") + "," + call("2") + "]", status(500, "text/plain", "no"), nil, []string{"1", "2"}},
		"notifications-only": {"[" + notification + "]", json200("[" + answered("1") + "]"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if strings.HasPrefix(p.body, "[") {
					c.reply(w, r, p)
					return
				}
				negotiating("2025-03-26")(w, r, p)
			})
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(initialize("0"))
			h.line()
			h.sendLine(c.batch)
			h.want(c.want...)
			for _, id := range c.fails {
				h.fault(id, -32603, "HTTP 500")
			}
			h.alive()
			h.end()
			sent := false
			for _, p := range f.posts() {
				sent = sent || p.body == c.batch
			}
			if !sent {
				t.Error("the batch did not reach the far end as it was")
			}
		})
	}
}

func TestANotificationIsNeverAnswered(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(http.ResponseWriter, *http.Request, posted){
		"notif-202":      status(202, "", ""),
		"notif-200-body": json200(answered("1")),
		"notif-200-id-0": json200(answered("0")),
		"notif-sse":      sse("data: " + progress + "\n\ndata: " + answered("1") + "\n\n"),
		"notif-400":      status(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`),
		"notif-401":      status(401, "text/plain", "no"),
		"notif-reset":    cutOff(""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.id == "" {
					reply(w, r, p)
					return
				}
				result(w, r, p)
			})
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			eventually(t, "the notification arrives", func() bool { return len(f.posts()) == 1 })
			h.alive()
			h.end()
		})
	}
}

// Its id could not be written back: every line of output is valid UTF-8.
func TestALineThatIsNotUTF8IsRefusedWithoutItsID(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	for _, line := range []string{
		call("\"a\xffb\""),
		"[" + call("\"\xc3\"") + "]",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + "\xed\xa0\x80" + `"}}`,
	} {
		h.sendLine(line)
		h.fault("null", -32700, "not valid UTF-8")
	}
	h.alive()
	h.end()
}
