package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// answering is a forge that says in whose name it was asked.
type answering struct{}

func (answering) Call(_ context.Context, inv Invocation) (Result, error) {
	text := inv.Workspace.String()
	if inv.Workspace == beta {
		text += secret
	}
	raw, err := json.Marshal(text)
	return Result{JSON: raw}, err
}

// FuzzHandler holds what the endpoint promises for any head and any body: one JSON answer or none,
// and to a request with an id one that carries it, byte for byte.
func FuzzHandler(f *testing.F) {
	for _, s := range talks(f) {
		f.Add(s.head, []byte(s.body))
	}
	for _, body := range nasty() {
		for _, head := range heads()[:3] {
			f.Add(head, []byte(body))
		}
	}
	for _, head := range heads() {
		f.Add(head, []byte(statusGet))
	}
	p := fuzzed(f)
	h := p.server.Handler()
	f.Fuzz(func(t *testing.T, head string, body []byte) {
		defer p.forget()
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(p.authorized(head) + "\r\n")))
		if err != nil {
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		input, endpoint := head+string(body), reaches(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		text := w.Body.String()
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s; the log says %s", input, w.Code, text, p.log)
		}
		p.kept(t, input, text)
		typed(t, input, endpoint, w.Header(), text)
		if endpoint {
			answeredOnce(t, body, w.Code, text)
		}
	})
}

// readByJSON is what encoding/json reads of a message, in the order in which the server looks.
type readByJSON struct {
	JSONRPC, ID, Method, Result, Error json.RawMessage
}

// isRequest says that the message has to be answered under its id.
func (m readByJSON) isRequest() bool {
	var id any
	d := json.NewDecoder(bytes.NewReader(m.ID))
	d.UseNumber()
	if m.ID == nil || d.Decode(&id) != nil {
		return false
	}
	switch id.(type) {
	case string:
	case json.Number:
		if !integral(string(m.ID)) {
			return false
		}
	default:
		return false
	}
	return m.named()
}

func (m readByJSON) named() bool {
	var version, method string
	return json.Unmarshal(m.JSONRPC, &version) == nil && version == "2.0" && json.Unmarshal(m.Method, &method) == nil && method != ""
}

// answeredOnce compares an answer with what was asked. The refusals that come before the body is
// read have no id.
func answeredOnce(t *testing.T, body []byte, status int, text string) {
	t.Helper()
	unread := status == 401 || status == 403 || status == 413 || status == 415
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		if !unread {
			batchAnswered(t, body, status, text)
		}
		return
	}
	var asked readByJSON
	valid := utf8.Valid(body) && json.Unmarshal(body, &asked) == nil
	switch {
	case unread || !valid || !asked.isRequest() && !(asked.ID == nil && asked.named()):
		if got := answerID(t, body, text); got != nil && !bytes.Equal(got, asked.ID) || status == http.StatusOK {
			t.Fatalf("%q is no request, and was answered with %d %s", body, status, text)
		}
	case asked.ID == nil:
		if text != "" && (status < 400 || answerID(t, body, text) != nil) || text == "" && status != http.StatusAccepted {
			t.Fatalf("the notification %q was answered with %d %s", body, status, text)
		}
	default:
		if got := answerID(t, body, text); !bytes.Equal(got, asked.ID) {
			t.Fatalf("the id %s of %q came back as %s under status %d: %s", asked.ID, body, got, status, text)
		}
	}
}

// answerID reads the id of one answer, nil where it has none.
func answerID(t *testing.T, body []byte, text string) json.RawMessage {
	t.Helper()
	if text == "" {
		return nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%q was answered with %q: %v", body, text, err)
	}
	if string(m["jsonrpc"]) != `"2.0"` || (m["result"] == nil) == (m["error"] == nil) {
		t.Fatalf("%q was answered with %q, which is no JSON-RPC response", body, text)
	}
	return m["id"]
}

// batchAnswered holds the answers to a batch to be those of its requests, in their order, and an
// error without an id for each element that is no message.
func batchAnswered(t *testing.T, body []byte, status int, text string) {
	t.Helper()
	if status == http.StatusBadRequest {
		if id := answerID(t, body, text); id != nil || text == "" {
			t.Fatalf("the refused batch %q was answered with %q", body, text)
		}
		return
	}
	var elements, answers []json.RawMessage
	if err := json.Unmarshal(body, &elements); err != nil {
		t.Fatalf("%q is no batch, and was answered with %d %s", body, status, text)
	}
	if text != "" && json.Unmarshal([]byte(text), &answers) != nil {
		t.Fatalf("the batch %q was answered with %q", body, text)
	}
	for _, raw := range elements {
		var m readByJSON
		if err := json.Unmarshal(raw, &m); err != nil || !m.isRequest() {
			continue
		}
		for len(answers) > 0 && !bytes.Equal(answerID(t, body, string(answers[0])), m.ID) {
			answers = answers[1:] // of an element that is no request
		}
		if len(answers) == 0 {
			t.Fatalf("the request %s in the batch %q was not answered: %s", m.ID, body, text)
		}
		answers = answers[1:]
	}
}
