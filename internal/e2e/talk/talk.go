// Package talk holds what is said in tests: the captured talks of real clients, and the words of a
// program or of code under test. It knows neither end.
package talk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Message is one message of a client. Method, Path and Header are of one that came by HTTP; of one
// that came by standard input they are empty.
type Message struct {
	Method, Path string
	Header       map[string]string
	Body         string
}

// Talk is what one client said, in order.
type Talk struct {
	File     string // where it is kept
	Messages []Message
}

// Captured reads the talks of real clients, which the tests of internal/e2e keep, for a test of a
// package that lies in internal. There is at least one, and none is empty.
func Captured(t testing.TB) []Talk {
	t.Helper()
	files, err := filepath.Glob("../e2e/testdata/talks/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captured talks: %v", err)
	}
	var talks []Talk
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		messages, err := read(raw)
		if err != nil || len(messages) == 0 {
			t.Fatalf("%s holds %d messages: %v", file, len(messages), err)
		}
		talks = append(talks, Talk{file, messages})
	}
	return talks
}

func read(raw []byte) ([]Message, error) {
	var messages []Message
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return messages, fmt.Errorf("message %d: %w", len(messages)+1, err)
		}
		messages = append(messages, m)
	}
	return messages, lines.Err()
}
