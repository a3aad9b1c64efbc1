//go:build e2e

package e2e

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "store what the harnesses send anew, below testdata/talks")

// talk is what one client said, in order, and what it was answered.
type talk []exchange

// exchange is one message of a client. Method, path and header are HTTP's alone.
type exchange struct {
	method, path string
	header       http.Header
	body, answer []byte
}

// request is a client's message as far as a test looks at it.
type request struct {
	Method string `json:"method"`
	Params struct {
		ProtocolVersion string     `json:"protocolVersion"`
		ClientInfo      clientInfo `json:"clientInfo"`
		Meta            struct {
			ProtocolVersion string     `json:"io.modelcontextprotocol/protocolVersion"`
			ClientInfo      clientInfo `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
	} `json:"params"`
}

type clientInfo struct {
	Version string `json:"version"`
}

// answer is what a client was answered, as far as a test looks at it.
type answer struct {
	Result *struct {
		ProtocolVersion string `json:"protocolVersion"`
		Tools           []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"result"`
}

// of finds the first message of method that was answered with a result.
func (k talk) of(t *testing.T, method string) (request, answer) {
	t.Helper()
	for _, e := range k {
		var q request
		if len(e.body) == 0 {
			continue // a GET
		}
		if err := json.Unmarshal(e.body, &q); err != nil {
			t.Fatalf("the harness sent %s: %v", e.body, err)
		}
		var a answer
		if q.Method == method && json.Unmarshal(e.answer, &a) == nil && a.Result != nil {
			return q, a
		}
	}
	return request{}, answer{}
}

// listed gives the names of the tools that the client was told of.
func (k talk) listed(t *testing.T) []string {
	t.Helper()
	_, a := k.of(t, "tools/list")
	if a.Result == nil {
		t.Fatal("no tools/list was answered")
	}
	var names []string
	for _, tool := range a.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// protocol gives the revision that both sides spoke when the tools were listed: since 2026-07-28
// each request names its own, before it was what initialize was answered with.
func (k talk) protocol(t *testing.T) string {
	t.Helper()
	if q, _ := k.of(t, "tools/list"); q.Params.Meta.ProtocolVersion != "" {
		return q.Params.Meta.ProtocolVersion
	}
	_, a := k.of(t, "initialize")
	if a.Result == nil {
		t.Fatal("neither did tools/list name a revision, nor was initialize answered")
	}
	return a.Result.ProtocolVersion
}

// clientVersion gives what the client says that it is.
func (k talk) clientVersion(t *testing.T) string {
	t.Helper()
	if q, _ := k.of(t, "initialize"); q.Params.ClientInfo.Version != "" {
		return q.Params.ClientInfo.Version
	}
	q, _ := k.of(t, "tools/list")
	return q.Params.Meta.ClientInfo.Version
}

// stored is a line of a stored talk. Of stdio it has the body alone.
type stored struct {
	Method string            `json:"method,omitempty"`
	Path   string            `json:"path,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body"`
}

const talks = "testdata/talks"

// keep stores the talk with -update, and otherwise sees to it that one is stored.
func (k talk) keep(t *testing.T, f *fleet, c client) {
	t.Helper()
	path := filepath.Join(talks, c.slug()+".jsonl")
	if !*update {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v: go test -tags e2e ./internal/e2e -run TestEachHarness -update stores it", err)
		}
		return
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, e := range k {
		line := stored{Method: e.method, Path: e.path, Header: kept(e.header), Body: string(e.body)}
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(t, talks)
	writeFile(t, path, 0o644, clean(text.String(), f))
}

// kept are the headers that matter to the endpoint; the others tell of the machine.
func kept(header http.Header) map[string]string {
	out := map[string]string{}
	for name := range header {
		switch {
		case name == "Accept", name == "Authorization", name == "Content-Type", name == "Last-Event-Id",
			strings.HasPrefix(name, "Mcp-"):
			out[name] = header.Get(name)
		}
	}
	return out
}

// foreign is what a stored talk may not hold, by what is stored for it.
func foreign() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"fleet_TOKEN":                          regexp.MustCompile(`fleet_[A-Za-z0-9_-]{20,}`),
		"00000000-0000-0000-0000-000000000000": regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`),
		strings.Repeat("0", 40):                regexp.MustCompile(`\b[0-9a-f]{40}\b`),
		"1000000000000":                        regexp.MustCompile(`\b1[0-9]{12}\b`),
		"http://127.0.0.1":                     regexp.MustCompile(`http://(127\.0\.0\.1|localhost):[0-9]+`),
	}
}

// clean replaces what differs from machine to machine and from run to run.
func clean(text string, f *fleet) string {
	text = strings.ReplaceAll(text, f.dir, "/fleet")
	for with, p := range foreign() {
		text = p.ReplaceAllString(text, with)
	}
	return text
}

// TestTheStoredTalksTellNothingOfAMachine also sees to it that there is one of each client.
func TestTheStoredTalksTellNothingOfAMachine(t *testing.T) {
	forbidden := regexp.MustCompile(`/(tmp|home|Users|root|var|private)/|[0-9A-Za-z._-]+@[0-9A-Za-z-]+\.[a-z]+`)
	for _, c := range clients() {
		text, err := os.ReadFile(filepath.Join(talks, c.slug()+".jsonl"))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := forbidden.Find(text); got != nil {
			t.Errorf("%s holds %s", c.slug(), got)
		}
		for with, p := range foreign() {
			if got := p.FindString(string(text)); got != "" && got != with {
				t.Errorf("%s holds %s, want %s", c.slug(), got, with)
			}
		}
		for line := range strings.Lines(string(text)) {
			var s stored
			err := json.Unmarshal([]byte(line), &s)
			if err != nil || (s.Method != http.MethodGet && !json.Valid([]byte(s.Body))) {
				t.Errorf("%s has the line %s: %v", c.slug(), line, err)
			}
		}
	}
}
