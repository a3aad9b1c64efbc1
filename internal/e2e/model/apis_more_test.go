package model

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func askChat(tools []string, history []any) object {
	list := []any{}
	for _, t := range tools {
		list = append(list, object{"type": "function", "function": object{"name": t, "parameters": object{"type": "object"}}})
	}
	messages := []any{object{"role": "system", "content": "be brief"}, object{"role": "user", "content": "go"}}
	return object{"model": "m", "stream": true, "tools": list, "messages": append(messages, history...)}
}

func readChat(events []object) (id, name, arguments, text string) {
	for _, e := range events {
		d := first(e["choices"])["delta"].(object)
		words, _ := d["content"].(string)
		text += words
		if d["tool_calls"] == nil {
			continue
		}
		call := first(d["tool_calls"])
		f := call["function"].(object)
		id, name, arguments = call["id"].(string), f["name"].(string), f["arguments"].(string)
	}
	return id, name, arguments, text
}

func replyChat(id, name, arguments, result string) []any {
	return []any{
		object{"role": "assistant", "tool_calls": []any{object{
			"id": id, "type": "function", "function": object{"name": name, "arguments": arguments},
		}}},
		object{"role": "tool", "tool_call_id": id, "content": result},
	}
}

func askGenerate(tools []string, history []any) object {
	list := []any{}
	for _, t := range tools {
		list = append(list, object{"name": t, "parametersJsonSchema": object{"type": "object"}})
	}
	contents := []any{object{"role": "user", "parts": []any{object{"text": "go"}}}}
	return object{"tools": []any{object{"functionDeclarations": list}}, "contents": append(contents, history...)}
}

func readGenerate(events []object) (id, name, arguments, text string) {
	for _, e := range events {
		part := first(first(e["candidates"])["content"].(object)["parts"])
		words, _ := part["text"].(string)
		text += words
		if call, ok := part["functionCall"].(object); ok {
			args, err := json.Marshal(call["args"])
			if err != nil {
				return "", "", err.Error(), ""
			}
			id, name, arguments = call["id"].(string), call["name"].(string), string(args)
		}
	}
	return id, name, arguments, text
}

// replyGenerate answers as Gemini CLI does: with marks around what the tool said.
func replyGenerate(id, name, arguments, result string) []any {
	response := object{"output": "<untrusted_context>\n" + result + "\n</untrusted_context>"}
	if result == "bad" {
		response = object{"error": result}
	}
	return []any{
		object{"role": "model", "parts": []any{object{"functionCall": object{"name": name, "args": json.RawMessage(arguments)}}}},
		object{"role": "user", "parts": []any{object{"functionResponse": object{"id": id, "name": name, "response": response}}}},
	}
}

func first(list any) object { return list.([]any)[0].(object) }

func TestAGeminiResultWithoutAnIDBelongsToTheNextCall(t *testing.T) {
	s := Start(t, twoCalls)
	history := append(replyGenerate("", "begin", "{}", "one"), replyGenerate("", "end", "{}", "two")...)
	post(t, s, apis()["generate"].path, askGenerate([]string{"mcp_the-server_begin"}, history))
	if got := s.Results(); len(got) != 2 || got[0].Text != "one" || got[1].Text != "two" {
		t.Errorf("Results() = %+v, want one and two", got)
	}
}

// TestTheStandInTakesNoRequestThatTheAPIWouldNot has, by what is wrong, the request's path and body.
func TestTheStandInTakesNoRequestThatTheAPIWouldNot(t *testing.T) {
	for problem, q := range map[string][2]string{
		"no messages": {"/v1/chat/completions", `{"model":"m"}`},
		"no contents": {"/v1beta/models/m:generateContent", `{}`},
		`tool 0 is of type "" and named "x"`: {
			"/v1/chat/completions", `{"messages":[{"role":"user","content":"go"}],"tools":[{"function":{"name":"x"}}]}`,
		},
	} {
		t.Run(problem, func(t *testing.T) {
			s := Start(t, twoCalls)
			res, err := http.Post(s.URL+q[0], "application/json", strings.NewReader(q[1]))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusBadRequest {
				t.Errorf("status %d, %v; want 400", res.StatusCode, err)
			}
			if got := s.Problems(); len(got) != 1 || !strings.HasSuffix(got[0], problem) {
				t.Errorf("Problems() = %q, want one that ends in %q", got, problem)
			}
		})
	}
}

// TestToolsAreKnownByEveryHarnessesName has, by how a harness names a tool, what the tool is.
func TestToolsAreKnownByEveryHarnessesName(t *testing.T) {
	for full, want := range map[string]string{
		"mcp__the-server__begin": "begin",
		"mcp_the-server_begin":   "begin",
		"mcp_the_server_begin":   "begin",
		"the-server-begin":       "begin",
		"the-server_begin":       "begin",
		"another-server_begin":   "",
		"begin":                  "",
	} {
		if got, ok := (tool{name: full}).bare("the-server"); got != want || ok != (want != "") {
			t.Errorf("bare of %s is %q, %t; want %q", full, got, ok, want)
		}
	}
}
