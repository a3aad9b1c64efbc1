package model

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

var twoCalls = Script{
	Server: "the-server",
	Calls:  []Call{{Tool: "begin", Arguments: `{"name":"x"}`}, {Tool: "end"}},
	Text:   "all said",
}

func isDone(s *Server) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

func TestTheScriptIsFollowedCallByCall(t *testing.T) {
	for name, a := range apis() {
		t.Run(name, func(t *testing.T) {
			s := Start(t, twoCalls)
			tools := []string{"Bash", "mcp__other__begin", "mcp__the-server__end", "mcp__the-server__begin"}
			var history []any
			for i, want := range []Call{{"begin", `{"name":"x"}`}, {"end", "{}"}} {
				id, tool, args, _ := a.read(post(t, s, a.path, a.ask(tools, history)))
				if !strings.HasSuffix(tool, "server__"+want.Tool) || args != want.Arguments {
					t.Fatalf("call %d is %s %s, want %s %s of the-server", i, tool, args, want.Tool, want.Arguments)
				}
				history = append(history, a.reply(id, tool, args, "result of "+want.Tool)...)
			}
			if isDone(s) {
				t.Error("Done is closed before the last result came back")
			}
			if _, tool, _, text := a.read(post(t, s, a.path, a.ask(tools, history))); text != "all said" || tool != "" {
				t.Errorf("the turn ends with call %q, text %q, want text %q alone", tool, text, "all said")
			}
			if !isDone(s) {
				t.Error("Done is open after the end of the script")
			}
			want := []Result{{Tool: "begin", Text: "result of begin"}, {Tool: "end", Text: "result of end"}}
			if got := s.Results(); !reflect.DeepEqual(got, want) {
				t.Errorf("Results() = %+v, want %+v", got, want)
			}
			if got, want := s.Offered(), []string{"begin", "end"}; !reflect.DeepEqual(got, want) {
				t.Errorf("Offered() = %q, want %q", got, want)
			}
			if got := s.Problems(); got != nil {
				t.Errorf("Problems() = %q, want none", got)
			}
		})
	}
}

func TestARepeatedRequestGetsTheSameCall(t *testing.T) {
	for name, a := range apis() {
		t.Run(name, func(t *testing.T) {
			s := Start(t, twoCalls)
			q := a.ask([]string{"mcp__the-server__begin"}, nil)
			first := post(t, s, a.path, q)
			if second := post(t, s, a.path, q); !reflect.DeepEqual(first, second) {
				t.Errorf("the same request got %v, then %v", first, second)
			}
		})
	}
}

func TestATurnWithoutToolsGetsATextAndNoCall(t *testing.T) {
	for name, a := range apis() {
		t.Run(name, func(t *testing.T) {
			s := Start(t, twoCalls)
			q := a.ask(nil, nil)
			q["tools"] = []any{}
			if _, tool, _, text := a.read(post(t, s, a.path, q)); tool != "" || text != "all said" {
				t.Errorf("got call %q and text %q, want the text alone", tool, text)
			}
			if isDone(s) {
				t.Error("Done is closed though the script has not begun")
			}
		})
	}
}

func TestAToolThatIsNotOfferedIsAProblem(t *testing.T) {
	for name, a := range apis() {
		t.Run(name, func(t *testing.T) {
			s := Start(t, twoCalls)
			_, tool, _, text := a.read(post(t, s, a.path, a.ask([]string{"mcp__other__begin"}, nil)))
			want := "the tool begin of the-server was not offered"
			if tool != "" || text != want {
				t.Errorf("got call %q and text %q, want text %q", tool, text, want)
			}
			if got := s.Problems(); !reflect.DeepEqual(got, []string{want}) {
				t.Errorf("Problems() = %q, want %q", got, want)
			}
		})
	}
}

func TestARefusedCallIsToldApart(t *testing.T) {
	for _, name := range []string{"messages", "generate"} { // the others have no mark for it
		a, s := apis()[name], Start(t, twoCalls)
		history := a.reply(callID(0), "begin", "{}", "bad")
		post(t, s, a.path, a.ask([]string{"mcp__the-server__end"}, history))
		if got, want := s.Results(), []Result{{Tool: "begin", Text: "bad", IsError: true}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: Results() = %+v, want %+v", name, got, want)
		}
	}
}

// callsOf gives what a whole answer holds of any API's calls.
func callsOf(answer object) []any {
	blocks, _ := answer["content"].([]any)
	items, _ := answer["output"].([]any)
	all := append(blocks, items...)
	if answer["choices"] != nil {
		for _, c := range first(answer["choices"])["message"].(object)["tool_calls"].([]any) {
			all = append(all, c.(object)["function"])
		}
	}
	if answer["candidates"] != nil {
		for _, p := range first(answer["candidates"])["content"].(object)["parts"].([]any) {
			all = append(all, p.(object)["functionCall"])
		}
	}
	return all
}

func TestAHarnessMayAskNotToStream(t *testing.T) {
	for name, a := range apis() {
		t.Run(name, func(t *testing.T) {
			s := Start(t, twoCalls)
			q := a.ask([]string{"mcp__the-server__begin"}, nil)
			q["stream"] = false
			b, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			path := strings.Replace(a.path, "streamGenerateContent?alt=sse", "generateContent", 1)
			res, err := http.Post(s.URL+path, "application/json", strings.NewReader(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var answer object
			if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
				t.Fatalf("the answer is not JSON: %v", err)
			}
			all := callsOf(answer)
			if len(all) != 1 || !strings.HasSuffix(all[0].(object)["name"].(string), "begin") {
				t.Errorf("the answer holds %v, want one call of begin", all)
			}
		})
	}
}

func TestWhatIsMeantForOtherHostsGoesNoFurther(t *testing.T) {
	far := Start(t, twoCalls)
	s := Start(t, twoCalls)
	proxy, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil }}}
	res, err := c.Get(far.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("GET through the stand-in: status %d, want 403", res.StatusCode)
	}
	if _, err := c.Get("https://model.example/"); err == nil {
		t.Error("a tunnel through the stand-in was opened")
	}
	want := []string{strings.TrimPrefix(far.URL, "http://"), "model.example:443"}
	if got := s.Outside(); !reflect.DeepEqual(got, want) {
		t.Errorf("Outside() = %q, want %q", got, want)
	}
	if got := far.Requests(); got != nil {
		t.Errorf("the other host was reached: %q", got)
	}
}

func TestWhatCannotBeReadIsAProblemAndGets400(t *testing.T) {
	s := Start(t, twoCalls)
	res, err := http.Post(s.URL+"/v1/responses", "application/json", strings.NewReader("(packed)"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusBadRequest || !json.Valid(body) {
		t.Errorf("status %d, body %s, %v; want 400 and JSON", res.StatusCode, body, err)
	}
	if got := s.Problems(); len(got) != 1 || !strings.HasPrefix(got[0], "POST /v1/responses: ") {
		t.Errorf("Problems() = %q, want one that names the request", got)
	}
}
