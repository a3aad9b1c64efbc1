package model

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chatRequest is what the stand-in reads of https://platform.openai.com/docs/api-reference/chat/create.
type chatRequest struct {
	Model  string
	Stream bool
	Tools  []struct {
		Type     string
		Function struct{ Name string }
	}
	Messages []struct {
		Role       string
		ToolCallID string `json:"tool_call_id"`
		Content    json.RawMessage
	}
}

// results gives the results of the script's calls by step.
func (q chatRequest) results() map[int]Result {
	out := map[int]Result{}
	for _, m := range q.Messages {
		if m.Role != "tool" {
			continue
		}
		if step, ok := stepOf(m.ToolCallID); ok {
			out[step] = Result{Text: content(m.Content)}
		}
	}
	return out
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if !s.decode(w, r, &q) {
		return
	}
	if len(q.Messages) == 0 {
		s.refuse(w, r, "no messages")
		return
	}
	tools := make([]tool, len(q.Tools))
	for i, t := range q.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			s.refuse(w, r, fmt.Sprintf("tool %d is of type %q and named %q", i, t.Type, t.Function.Name))
			return
		}
		tools[i].name = t.Function.Name
	}
	a := s.next(tools, q.results())
	if q.Stream {
		writeData(w, chatChunks(q.Model, a), "[DONE]")
	} else {
		writeJSON(w, http.StatusOK, chatAnswer(q.Model, a, "chat.completion", "message", chatMessage(a), chatFinish(a)))
	}
	s.sent(a)
}

func chatFinish(a reply) any {
	if a.call != nil {
		return "tool_calls"
	}
	return "stop"
}

// chatMessage is the whole of what the model says; of a stream it is the first delta.
func chatMessage(a reply) object {
	if a.call == nil {
		return object{"role": "assistant", "content": a.text}
	}
	return object{"role": "assistant", "content": nil, "tool_calls": []any{object{
		"index": 0, "id": a.call.id, "type": "function",
		"function": object{"name": a.call.name, "arguments": a.call.arguments},
	}}}
}

// chatAnswer is a whole answer, whose only choice has a message, or a chunk, whose choice has a delta.
func chatAnswer(model string, a reply, kind, key string, said object, finish any) object {
	return object{
		"id": fmt.Sprintf("chat_step_%d", a.step), "object": kind, "created": 1, "model": model,
		"choices": []any{object{"index": 0, key: said, "finish_reason": finish}},
		"usage":   object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	}
}

func chatChunks(model string, a reply) []object {
	const kind = "chat.completion.chunk"
	return []object{
		chatAnswer(model, a, kind, "delta", chatMessage(a), nil),
		chatAnswer(model, a, kind, "delta", object{}, chatFinish(a)),
	}
}
