package adapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleet/internal/adapter"
	"fleet/internal/atlas"
	"fleet/internal/e2e/talk"
	"fleet/internal/token"
)

// farEnds are ships that answer well and badly, each in a workspace of its name.
func farEnds() map[string]func(http.ResponseWriter, *http.Request, posted) {
	return map[string]func(http.ResponseWriter, *http.Request, posted){
		"0": result,
		"1": func(w http.ResponseWriter, r *http.Request, p posted) {
			sse(": x\r\n\r\ndata: "+progress+"\r\n\r", "\ndata: "+answered(orNull(p.id))+"\n\n")(w, r, p)
		},
		"2": func(w http.ResponseWriter, r *http.Request, p posted) { // decodes ids and encodes them again
			var id any
			_ = json.Unmarshal([]byte(p.id), &id)
			anew, _ := json.Marshal(id)
			p.id = string(anew)
			result(w, r, p)
		},
		"3": func(w http.ResponseWriter, r *http.Request, p posted) {
			status(500, "text/html", "<html>you sent "+r.Header.Get("Authorization"))(w, r, p)
		},
		"4": status(401, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`),
		"5": status(202, "", ""),
		"6": func(w http.ResponseWriter, r *http.Request, p posted) { json200(p.body)(w, r, p) }, // an echo
		"7": cutOff("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"json"),
		"8": batching,
	}
}

func orNull(id string) string {
	if id == "" {
		return "null"
	}
	return id
}

// batching is a ship of 2025-03-26, the revision with batches: it answers the last request first.
func batching(w http.ResponseWriter, r *http.Request, p posted) {
	var batch []struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(p.body), &batch) != nil {
		negotiating("2025-03-26")(w, r, p)
		return
	}
	answers := ""
	for _, m := range batch {
		if m.ID != nil && m.Method != "" {
			answers = "," + answered(string(m.ID)) + answers
		}
	}
	json200("["+strings.TrimPrefix(answers, ",")+"]")(w, r, p)
}

// FuzzStdin holds the adapter to its promise for any input in any pieces, and whatever the ship
// does: one answer under its own id for each request, none for a notification, nothing but lines
// of JSON, and an end with the input.
func FuzzStdin(f *testing.F) {
	ends := farEnds()
	for i, input := range stdinSeeds(f) {
		for far := range len(ends) + 1 {
			f.Add([]byte(input), uint8(far), max(1, i%7*(far%2)*1000))
		}
	}
	ship := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		ends[strings.Split(r.URL.Path, "/")[3]](w, r, posted{body: string(body), id: string(m.ID), method: m.Method})
	}))
	f.Cleanup(ship.Close)
	port := ship.Listener.Addr().(*net.TCPAddr).Port
	f.Fuzz(func(t *testing.T, input []byte, far uint8, size int) {
		if len(input) > long {
			return
		}
		at := int(far) % (len(ends) + 1) // the last one is outside every workspace
		secret := token.Mint().Reveal()
		var out, said talk.Words
		ended := make(chan int, 1)
		go func() {
			ended <- adapter.Run(context.Background(), fuzzConfig(input, size, at, len(ends), port, secret, &out, &said))
		}()
		select {
		case code := <-ended:
			if code != 0 {
				t.Fatalf("%q: it ended with %d", input, code)
			}
		case <-time.After(4 * patience):
			t.Fatalf("%q at far end %d: it does not end; so far it wrote %q", input, at, out.String())
		}
		if strings.Contains(out.String()+said.String(), secret) {
			t.Fatalf("%q at far end %d: the token is shown: %q, %q", input, at, out.String(), said.String())
		}
		want, cancels := dueFor(input)
		got := answersIn(t, input, out.String())
		if cancels {
			for id := range want { // any of them may have been cancelled
				want[id] = min(want[id], got[id])
			}
			maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%q at far end %d in pieces of %d: the answers by id are %v, want %v:\n%s", input, at, size, got, want, out.String())
		}
	})
}

func fuzzConfig(input []byte, size, at, outside, port int, secret string, out, said io.Writer) adapter.Config {
	place := atlas.Place{Root: "/nonexistent", Port: port, ID: atlas.ID{Repo: "r", Name: strconv.Itoa(at)}}
	return adapter.Config{
		In: pieces{bytes.NewReader(input), max(1, size)}, Out: out, Err: said, StartPatience: -1, Patience: -1,
		Locate: func() (atlas.Place, error) {
			if at == outside {
				return atlas.Place{}, errors.New("no atlas here")
			}
			return place, nil
		},
		LookupEnv: func(name string) (string, bool) {
			return map[string]string{
				atlas.TokenVariable: secret,
				atlas.URLVariable:   fmt.Sprintf("http://127.0.0.1:%d%s", port, place.ID.MCPPath()),
			}[name], true
		},
		SessionEnv: func(context.Context, string, string, ...string) (map[string]string, error) { return nil, nil },
	}
}

// pieces reads size bytes at a time.
type pieces struct {
	r    io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.size)]) }

// stdinSeeds are what real clients wrote, each talk whole, and what is easily read amiss.
func stdinSeeds(t testing.TB) []string {
	t.Helper()
	var seeds []string
	for _, captured := range talk.Captured(t) {
		whole := ""
		for _, said := range captured.Messages {
			whole += said.Body + "\n"
		}
		seeds = append(seeds, whole)
	}
	begin := strings.Replace(initialize("0"), "2025-06-18", "2025-03-26", 1) + "\n"
	one, two := call("1"), call("1.0")
	return append(seeds,
		"", "\n", "\r\n \t\r\n", "{}", "[]", "null\n7\n\"x\"\n[7]\n[[]]", "{", "\x00\n"+one, "\xef\xbb\xbf"+one, one+"\r\n"+two, one+two, "\xff\n"+call("\"\xc3\"")+"\n"+one,
		call("-0")+"\n"+call("9007199254740993")+"\n"+call("1e400")+"\n"+call(`"1"`)+"\n"+call(`"\ud800"`)+"\n"+call(`"\u0000\/"`)+"\n"+call("\"\u2028<&>\""),
		`{"jsonrpc":"2.0","id":1,"id":2,"ID":3,"Id":4,"method":"ping","METHOD":"x"}`, `{"id":null,"method":"m"}`+"\n"+`{"id":{},"method":"m"}`+"\n"+`{"id":5}`+"\n"+`{"id":6,"result":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":`+strings.Repeat(`{"_meta":`, 300)+`{}`+strings.Repeat(`}`, 301), strings.Repeat("[", 11000),
		modern("1", "tools/call")+"\n"+modern(`"a"`, "server/discover")+"\n"+strings.Replace(modern("2", "x"), "2026-07-28", "1900-01-01\u00e9", 1),
		begin+"["+one+","+two+`,{"jsonrpc":"2.0","method":"notifications/x"},7,{"id":8}]`+"\n"+`[{"jsonrpc":"2.0","method":"notifications/x"}]`+"\n"+`[{"method":5}]`+"\n[]",
		begin+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+one+"\n"+cancelled("1.0")+"\n"+`[`+cancelled("0")+`]`, one+"\n"+one+"\n"+one)
}
