package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responsesRequest is what the stand-in reads of https://platform.openai.com/docs/api-reference/responses.
type responsesRequest struct {
	Stream bool
	Tools  []responsesTool
	Input  json.RawMessage
}

// responsesTool is a function, or a namespace that holds functions.
type responsesTool struct {
	Type, Name string
	Tools      []struct{ Name string }
}

func (q responsesRequest) tools() []tool {
	var out []tool
	for _, t := range q.Tools {
		if t.Type != "namespace" {
			out = append(out, tool{name: t.Name})
		}
		for _, f := range t.Tools {
			out = append(out, tool{namespace: t.Name, name: f.Name})
		}
	}
	return out
}

// results gives the results of the script's calls by step.
func (q responsesRequest) results() map[int]Result {
	out := map[int]Result{}
	var items []struct {
		Type   string
		CallID string `json:"call_id"`
		Output json.RawMessage
	}
	if json.Unmarshal(q.Input, &items) != nil {
		return out // a plain text
	}
	for _, i := range items {
		if i.Type != "function_call_output" {
			continue
		}
		if step, ok := stepOf(i.CallID); ok {
			out[step] = Result{Text: content(withoutTiming(i.Output))}
		}
	}
	return out
}

// withoutTiming drops the part that Codex puts before a tool's own: how long the call took.
func withoutTiming(output json.RawMessage) json.RawMessage {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(output, &parts) != nil || len(parts) < 2 || !strings.HasPrefix(parts[0].Text, "Wall time: ") {
		return output
	}
	rest, err := json.Marshal(parts[1:])
	if err != nil {
		return output
	}
	return rest
}

func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	var q responsesRequest
	if !s.decode(w, r, &q) {
		return
	}
	a := s.next(q.tools(), q.results())
	item := responseItem(a)
	whole := response(a, "completed", []any{item})
	if q.Stream {
		writeEvents(w, []object{
			{"type": "response.created", "response": response(a, "in_progress", []any{})},
			{"type": "response.output_item.done", "output_index": 0, "item": item},
			{"type": "response.completed", "response": whole},
		})
	} else {
		writeJSON(w, http.StatusOK, whole)
	}
	s.sent(a)
}

func response(a reply, status string, output []any) object {
	return object{
		"id": fmt.Sprintf("resp_step_%d", a.step), "object": "response", "status": status, "output": output,
		"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
	}
}

func responseItem(a reply) object {
	if a.call == nil {
		return object{
			"type": "message", "id": fmt.Sprintf("msg_step_%d", a.step), "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": a.text, "annotations": []any{}}},
		}
	}
	item := object{
		"type": "function_call", "id": "fc_" + a.call.id, "call_id": a.call.id, "status": "completed",
		"name": a.call.name, "arguments": a.call.arguments,
	}
	if a.call.namespace != "" {
		item["namespace"] = a.call.namespace
	}
	return item
}
