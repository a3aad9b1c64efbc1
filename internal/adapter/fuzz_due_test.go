package adapter_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// anonymous stands for the id of an answer that has none, or null.
const anonymous = "none"

// dueFor counts the answers that are due, by the id as it is written, and tells whether anything
// is cancelled.
func dueFor(input []byte) (due map[string]int, cancels bool) {
	due = map[string]int{}
	for line := range bytes.SplitSeq(bytes.TrimPrefix(input, []byte("\xef\xbb\xbf")), []byte("\n")) {
		line = bytes.Trim(line, " \t\r\n")
		var batch []json.RawMessage
		switch {
		case len(line) == 0:
		case !utf8.Valid(line) || !json.Valid(line):
			due[anonymous]++
		case json.Unmarshal(line, &batch) == nil && line[0] == '[':
			cancels = batchDue(due, batch) || cancels
		default:
			id, cancel := idDue(line)
			cancels = cancels || cancel
			if id != "" {
				due[id]++
			}
		}
	}
	return due, cancels
}

// batchDue adds what is due for a batch: what has no id is answered only where nothing else is.
func batchDue(due map[string]int, batch []json.RawMessage) (cancels bool) {
	identified, unfit := 0, len(batch) == 0
	for _, one := range batch {
		id, cancel := idDue(one)
		cancels = cancels || cancel
		switch id {
		case "":
		case anonymous:
			unfit = true
		default:
			due[id]++
			identified++
		}
	}
	if unfit && identified == 0 {
		due[anonymous]++
	}
	return cancels
}

// idDue gives the id under which one message has to be answered, "" for none.
func idDue(text []byte) (id string, cancel bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || m == nil {
		return anonymous, false
	}
	var method string
	_ = json.Unmarshal(m["method"], &method)
	answer := m["result"] != nil || m["error"] != nil
	switch raw := m["id"]; {
	case method != "" && raw == nil:
		return "", method == "notifications/cancelled"
	case method == "" && raw != nil && answer:
		return "", false
	case len(raw) > 0 && strings.ContainsRune(`"-0123456789`, rune(raw[0])):
		return string(raw), false
	}
	return anonymous, false
}

// answersIn counts the answers in what was written, by their ids, and holds each line to be JSON.
func answersIn(t *testing.T, input []byte, output string) map[string]int {
	t.Helper()
	got := map[string]int{}
	for line := range strings.Lines(output) {
		text, whole := strings.CutSuffix(line, "\n")
		var batch []json.RawMessage
		if !whole || !json.Valid([]byte(text)) || !utf8.ValidString(text) || strings.Contains(text, "\r") {
			t.Fatalf("%q: standard output holds %q", input, line)
		}
		if text[0] != '[' {
			batch = []json.RawMessage{json.RawMessage(text)}
		} else if err := json.Unmarshal([]byte(text), &batch); err != nil || len(batch) == 0 {
			t.Fatalf("%q: standard output holds the batch %q", input, line)
		}
		for _, one := range batch {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(one, &m); err != nil || string(m["jsonrpc"]) != `"2.0"` {
				t.Fatalf("%q: standard output holds %q, which is no message", input, line)
			}
			switch id := string(m["id"]); {
			case m["method"] != nil: // the ship's own
			case id == "" || id == "null":
				got[anonymous]++
			default:
				got[id]++
			}
		}
	}
	return got
}
