package model

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// api is one of the APIs as a harness sees it: how it offers tools, reads a streamed answer and
// hands results back.
type api struct {
	path  string
	ask   func(tools []string, history []any) object
	read  func(events []object) (id, name, arguments, text string)
	reply func(id, name, arguments, result string) []any
}

func apis() map[string]api {
	return map[string]api{
		"messages":  {"/v1/messages", askMessages, readMessages, replyMessages},
		"responses": {"/v1/responses", askResponses, readResponses, replyResponses},
		"chat":      {"/v1/chat/completions", askChat, readChat, replyChat},
		"generate":  {"/v1beta/models/m:streamGenerateContent?alt=sse", askGenerate, readGenerate, replyGenerate},
	}
}

func askMessages(tools []string, history []any) object {
	list := []any{}
	for _, t := range tools {
		list = append(list, object{"name": t, "input_schema": object{"type": "object"}})
	}
	return object{"model": "m", "stream": true, "tools": list, "messages": append([]any{object{"role": "user", "content": "go"}}, history...)}
}

func readMessages(events []object) (id, name, arguments, text string) {
	for _, e := range events {
		if b, ok := e["content_block"].(object); ok && b["type"] == "tool_use" {
			id, name = b["id"].(string), b["name"].(string)
		}
		d, _ := e["delta"].(object)
		part, _ := d["partial_json"].(string)
		words, _ := d["text"].(string)
		arguments, text = arguments+part, text+words
	}
	return id, name, arguments, text
}

func replyMessages(id, name, arguments, result string) []any {
	return []any{
		object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": id, "name": name, "input": json.RawMessage(arguments)}}},
		object{"role": "user", "content": []any{object{
			"type": "tool_result", "tool_use_id": id, "is_error": result == "bad",
			"content": []any{object{"type": "text", "text": result}},
		}}},
	}
}

func askResponses(tools []string, history []any) object {
	list := []any{object{"type": "web_search"}}
	spaces := map[string]object{}
	for _, t := range tools {
		i := strings.LastIndex(t, "__")
		if i < 0 {
			list = append(list, object{"type": "function", "name": t})
			continue
		}
		// Codex allows no hyphen in a namespace.
		space := strings.ReplaceAll(t[:i], "-", "_")
		if spaces[space] == nil {
			spaces[space] = object{"type": "namespace", "name": space, "tools": []any{}}
			list = append(list, spaces[space])
		}
		spaces[space]["tools"] = append(spaces[space]["tools"].([]any), object{"type": "function", "name": t[i+2:]})
	}
	input := append([]any{object{"type": "message", "role": "user", "content": "go"}}, history...)
	return object{"model": "m", "stream": true, "tools": list, "input": input}
}

func readResponses(events []object) (id, name, arguments, text string) {
	for _, e := range events {
		item, _ := e["item"].(object)
		switch item["type"] {
		case "function_call":
			id, arguments = item["call_id"].(string), item["arguments"].(string)
			name = item["namespace"].(string) + "__" + item["name"].(string)
		case "message":
			text += item["content"].([]any)[0].(object)["text"].(string)
		}
	}
	return id, name, arguments, text
}

func replyResponses(id, name, arguments, result string) []any {
	return []any{
		object{"type": "function_call", "call_id": id, "name": name, "arguments": arguments},
		object{"type": "function_call_output", "call_id": id, "output": []any{
			object{"type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:"},
			object{"type": "input_text", "text": result},
		}},
	}
}

// post sends body and gives the server-sent events of the answer.
func post(t *testing.T, s *Server, path string, body object) []object {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL+path, "application/json", strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("POST %s: Content-Type %q (status %d), want text/event-stream", path, got, res.StatusCode)
	}
	var events []object
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "[DONE]" {
			var e object
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("POST %s: event %s: %v", path, data, err)
			}
			events = append(events, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}
