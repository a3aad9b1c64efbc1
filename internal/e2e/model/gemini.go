package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// generateRequest is what the stand-in reads of https://ai.google.dev/api/generate-content.
type generateRequest struct {
	Tools []struct {
		FunctionDeclarations []struct{ Name string }
	}
	Contents []struct {
		Role  string
		Parts []generatePart
	}
}

// generatePart is one part of a turn: of its kinds only these two matter here.
type generatePart struct {
	FunctionCall     *struct{ Name string }
	FunctionResponse *struct {
		ID       string
		Name     string
		Response struct{ Output, Error json.RawMessage }
	}
}

func (q generateRequest) tools() []tool {
	var out []tool
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			out = append(out, tool{name: f.Name})
		}
	}
	return out
}

// results gives the results of the script's calls by step. A response without an id belongs to
// the call that is as many calls after the first as it is responses.
func (q generateRequest) results() map[int]Result {
	out := map[int]Result{}
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			f := p.FunctionResponse
			if f == nil {
				continue
			}
			step, ok := stepOf(f.ID)
			if f.ID == "" {
				step, ok = len(out), true
			}
			if !ok {
				continue
			}
			if f.Response.Error != nil {
				out[step] = Result{Text: content(f.Response.Error), IsError: true}
			} else {
				out[step] = Result{Text: withoutContext(content(f.Response.Output))}
			}
		}
	}
	return out
}

// withoutContext drops the marks that Gemini CLI puts around what a tool answered.
func withoutContext(text string) string {
	inner, ok := strings.CutPrefix(text, "<untrusted_context>\n")
	if !ok {
		return text
	}
	return strings.TrimSuffix(inner, "\n</untrusted_context>")
}

// generate serves models/MODEL:generateContent and its streaming twin.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	_, verb, _ := strings.Cut(r.PathValue("call"), ":")
	if verb != "generateContent" && verb != "streamGenerateContent" {
		s.unknown(w, r)
		return
	}
	var q generateRequest
	if !s.decode(w, r, &q) {
		return
	}
	if len(q.Contents) == 0 {
		s.refuse(w, r, "no contents")
		return
	}
	a := s.next(q.tools(), q.results())
	if verb == "streamGenerateContent" {
		writeData(w, []object{generated(a)})
	} else {
		writeJSON(w, http.StatusOK, generated(a))
	}
	s.sent(a)
}

func generated(a reply) object {
	part := object{"text": a.text}
	if a.call != nil {
		part = object{"functionCall": object{
			"id": a.call.id, "name": a.call.name, "args": json.RawMessage(a.call.arguments),
		}}
	}
	return object{
		"candidates": []any{object{
			"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []any{part}},
		}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	}
}
