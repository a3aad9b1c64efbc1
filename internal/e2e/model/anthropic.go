package model

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// messagesRequest is what the stand-in reads of https://docs.anthropic.com/en/api/messages.
type messagesRequest struct {
	Model    string
	Stream   bool
	Tools    []struct{ Name string }
	Messages []struct {
		Content json.RawMessage
	}
}

// toolResult is the one kind of content block that matters here.
type toolResult struct {
	Type      string
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	IsError   bool `json:"is_error"`
}

// results gives the results of the script's calls by step.
func (q messagesRequest) results() map[int]Result {
	out := map[int]Result{}
	for _, m := range q.Messages {
		var blocks []toolResult
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a plain text
		}
		for _, b := range blocks {
			if b.Type != "tool_result" {
				continue
			}
			if step, ok := stepOf(b.ToolUseID); ok {
				out[step] = Result{Text: content(b.Content), IsError: b.IsError}
			}
		}
	}
	return out
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	var q messagesRequest
	if !s.decode(w, r, &q) {
		return
	}
	tools := make([]tool, len(q.Tools))
	for i, t := range q.Tools {
		tools[i].name = t.Name
	}
	a := s.next(tools, q.results())
	if q.Stream {
		writeEvents(w, messageEvents(q.Model, a))
	} else {
		writeJSON(w, http.StatusOK, message(q.Model, a, []any{messageBlock(a, true)}, stopReason(a)))
	}
	s.sent(a)
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, object{"input_tokens": 1})
}

func stopReason(a reply) any {
	if a.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func message(model string, a reply, blocks []any, stop any) object {
	return object{
		"id": fmt.Sprintf("msg_step_%d", a.step), "type": "message", "role": "assistant", "model": model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{"input_tokens": 1, "output_tokens": 1},
	}
}

// messageBlock is the answer's only content block: whole, or as it is before its first delta.
func messageBlock(a reply, whole bool) object {
	if a.call == nil {
		text := ""
		if whole {
			text = a.text
		}
		return object{"type": "text", "text": text}
	}
	input := json.RawMessage("{}")
	if whole {
		input = json.RawMessage(a.call.arguments)
	}
	return object{"type": "tool_use", "id": a.call.id, "name": a.call.name, "input": input}
}

// messageEvents streams a as https://docs.anthropic.com/en/api/messages-streaming has it.
func messageEvents(model string, a reply) []object {
	delta := object{"type": "text_delta", "text": a.text}
	if a.call != nil {
		delta = object{"type": "input_json_delta", "partial_json": a.call.arguments}
	}
	return []object{
		{"type": "message_start", "message": message(model, a, []any{}, nil)},
		{"type": "content_block_start", "index": 0, "content_block": messageBlock(a, false)},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{
			"type": "message_delta", "delta": object{"stop_reason": stopReason(a), "stop_sequence": nil},
			"usage": object{"output_tokens": 1},
		},
		{"type": "message_stop"},
	}
}
