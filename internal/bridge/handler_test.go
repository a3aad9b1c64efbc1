package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

// overHTTP serves b and gives a ship's way to it over HTTP.
func overHTTP(t *testing.T, b *bench, ship Secret) Caller {
	t.Helper()
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return clientTo(t, server.URL, ship)
}

func clientTo(t *testing.T, address string, ship Secret) Caller {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(file, []byte(ship.Reveal()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientConfig{URL: address, CredentialFile: file})
	if err != nil {
		t.Fatal(err)
	}
	c.patience = 200 * time.Millisecond
	return c
}

func TestBothWaysInAnswerAlike(t *testing.T) {
	registry := tools()
	registry["é b%2F#?"] = registry["widgets"]
	b := openBench(t, "", &fakeForge{}, func(c *Config) { c.Registry = func() map[string]Registered { return registry } })
	ship, _ := b.grantShip(t, "alpha", api.AllRepos, verbs()...)
	inside, outside := b.As(ship), overHTTP(t, b, ship)
	pull := func(r Request) Request { r.Op = OpPRComment; return r }
	requests := map[string]Request{
		"info":               {Op: OpInfo},
		"an odd name":        {Op: OpInfo, Repo: "é b%2F#?"},
		"issues":             {Op: OpIssueList, State: "closed"},
		"issue":              {Op: OpIssueView, Number: 7},
		"pulls":              {Op: OpPRList},
		"pull":               {Op: OpPRView, Number: 7},
		"checks of a pull":   {Op: OpChecks, Target: api.Target{Pull: 7}},
		"checks of a ref":    {Op: OpChecks, Target: api.Target{Ref: "feature/a+b&c=d%2e%2e#1"}},
		"checks of a branch": {Op: OpChecks, Target: api.Target{Branch: "é", SHA: headSHA}},
		"logs":               {Op: OpFailedLogs, Target: api.Target{Ref: "v1"}},
		"comment":            comment("é <b> \"q\" & \u2028"),
		"pull comment":       pull(comment("done")),
		"review":             review("APPROVE", ""),
		"bad state":          {Op: OpIssueList, State: "merged"},
		"bad number":         {Op: OpIssueView, Number: -3},
		"no number":          {Op: OpPRView},
		"two targets":        {Op: OpChecks, Target: api.Target{Pull: 7, Ref: "main"}},
		"no target":          {Op: OpChecks},
		"bad ref":            {Op: OpChecks, Target: api.Target{Ref: "../../x"}},
		"bad cursor":         {Op: OpIssueList, Cursor: "nope"},
		"empty body":         comment(" "),
		"bad event":          review("MERGE", "x"),
		"no such repo":       {Op: OpInfo, Repo: "nope"},
		"no forge":           {Op: OpInfo, Repo: "local"},
		"no provider":        {Op: OpIssueList, Repo: "lab"},
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			if r.Repo == "" {
				r.Repo = "widgets"
			}
			r.Workspace = "wörk space"
			want, wantErr := inside.Do(t.Context(), r)
			got, gotErr := outside.Do(t.Context(), r)
			if string(got) != string(want) || text(gotErr) != text(wantErr) {
				t.Errorf("over HTTP %s (%s), in process %s (%s)", got, text(gotErr), want, text(wantErr))
			}
		})
	}
	_, err := clientTo(t, "http://127.0.0.1:1", ship).Do(t.Context(), Request{Op: OpInfo, Repo: "widgets"})
	expectError(t, err, "unavailable/bridge_unreachable")
}

func text(err error) string {
	if e, ok := err.(*api.Error); ok {
		return e.Reason + " " + e.Text()
	}
	return fmt.Sprint(err)
}

// raw sends an HTTP request just as it is written.
func raw(t *testing.T, address, method, target string, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	lines := []string{method + " " + target + " HTTP/1.1", "Host: bridge", "Connection: close"}
	for name, value := range header {
		lines = append(lines, name+": "+value)
	}
	if body != "" {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	return exchange(t, conn, strings.Join(lines, "\r\n")+"\r\n\r\n"+body)
}

func TestEveryOtherAddressIsAPlainProblem(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	address := server.Listener.Addr().String()
	auth := map[string]string{"Authorization": "Bearer " + b.Local().Reveal()}
	const key = "01890a5d-ac96-774b-bcce-b302099a8057"
	cases := map[string]struct {
		method, target string
		header         map[string]string
		body           string
		status         int
		reason         string
	}{
		"root":                     {"GET", "/", nil, "", 404, "no_route"},
		"another version":          {"GET", "/v2/repos/widgets", nil, "", 404, "no_route"},
		"a trailing slash":         {"GET", "/v1/repos/widgets/", nil, "", 404, "no_route"},
		"two slashes":              {"GET", "//v1/repos/widgets", nil, "", 404, "no_route"},
		"dots":                     {"GET", "/v1/repos/../widgets", nil, "", 404, "no_route"},
		"dots as a repository":     {"GET", "/v1/repos/..", nil, "", 404, "no_repo"},
		"escaped dots":             {"GET", "/v1/repos/%2e%2e/widgets", nil, "", 404, "no_route"},
		"an escaped slash":         {"GET", "/v1/repos/widgets%2Fissues", nil, "", 404, "no_repo"},
		"a bad escape":             {"GET", "/v1/repos/%ff", nil, "", 400, "escape"},
		"another method":           {"DELETE", "/v1/repos/widgets", nil, "", 405, "method"},
		"posting where one reads":  {"POST", "/v1/repos/widgets/checks", nil, "{}", 405, "method"},
		"an unknown parameter":     {"GET", "/v1/repos/widgets?limit=3", nil, "", 400, "parameter"},
		"a parameter twice":        {"GET", "/v1/repos/widgets/issues?state=open&state=all", nil, "", 400, "parameter"},
		"a number that is none":    {"GET", "/v1/repos/widgets/issues/7x", nil, "", 400, "number"},
		"a signed number":          {"GET", "/v1/repos/widgets/issues/+7", nil, "", 400, "number"},
		"a number beyond 32 bits":  {"GET", "/v1/repos/widgets/issues/4294967303", nil, "", 400, "number"},
		"a pull that is none":      {"GET", "/v1/repos/widgets/checks?pr=0", nil, "", 400, "number"},
		"leading zeros":            {"GET", "/v1/repos/widgets/issues/007", nil, "", 400, "number"},
		"a pull's leading zeros":   {"GET", "/v1/repos/widgets/checks?pr=07", nil, "", 400, "number"},
		"an empty parameter":       {"GET", "/v1/repos/widgets/issues?state=", nil, "", 400, "parameter"},
		"an empty cursor":          {"GET", "/v1/repos/widgets/issues/7?cursor", nil, "", 400, "parameter"},
		"an empty pull":            {"GET", "/v1/repos/widgets/checks?branch=main&pr=", nil, "", 400, "parameter"},
		"health, posted":           {"POST", "/v1/healthz", nil, "", 405, "method"},
		"health, deleted":          {"DELETE", "/v1/healthz", nil, "", 405, "method"},
		"no key":                   {"POST", "/v1/repos/widgets/issues/7/comments", nil, `{"body":"x"}`, 400, "key"},
		"no body":                  {"POST", "/v1/repos/widgets/issues/7/comments", map[string]string{"Idempotency-Key": key}, "", 400, "body_json"},
		"an unknown field":         {"POST", "/v1/repos/widgets/issues/7/comments", map[string]string{"Idempotency-Key": key}, `{"body":"x","to":"y"}`, 400, "body_json"},
		"something after the JSON": {"POST", "/v1/repos/widgets/issues/7/comments", map[string]string{"Idempotency-Key": key}, `{"body":"x"}{}`, 400, "body_json"},
		"not UTF-8":                {"POST", "/v1/repos/widgets/issues/7/comments", map[string]string{"Idempotency-Key": key}, "{\"body\":\"\xff\"}", 400, "body_json"},
		"too large a body":         {"POST", "/v1/repos/widgets/issues/7/comments", map[string]string{"Idempotency-Key": key}, `{"body":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "too_large"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{}
			for _, from := range []map[string]string{auth, {"Content-Type": "application/json"}, c.header} {
				for k, v := range from {
					header[k] = v
				}
			}
			resp, body := raw(t, address, c.method, c.target, header, c.body)
			var p api.Problem
			if err := json.Unmarshal([]byte(body), &p); err != nil || resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("%d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			if resp.StatusCode != c.status || p.Status != c.status || p.Reason != c.reason || p.Title != http.StatusText(c.status) || p.Detail == "" {
				t.Errorf("%d %s, want %d %s", resp.StatusCode, body, c.status, c.reason)
			}
			if allow := resp.Header.Get("Allow"); (c.status == 405) != (allow != "") {
				t.Errorf("Allow: %q at %d", allow, c.status)
			}
		})
	}
	if n := b.forge.called("Write"); n != 0 {
		t.Errorf("%d writes", n)
	}
	resp, body := raw(t, address, "GET", "/v1/healthz", nil, "")
	if resp.StatusCode != 200 || body != "ok\n" {
		t.Errorf("healthz: %d %q", resp.StatusCode, body)
	}
}

func TestUnknownShipsAllGetTheSameAnswer(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	address := server.Listener.Addr().String()
	ours := b.Local().Reveal()
	first := ""
	for name, header := range map[string]string{
		"none": "", "another scheme": "Basic " + ours, "no scheme": ours, "cut": "Bearer " + ours[:20], "longer": "Bearer " + ours + "x", "empty": "Bearer ",
	} {
		for _, target := range []string{"/v1/repos/widgets", "/v1/repos/nope", "/v1/repos/widgets/issues/x", "/nowhere"} {
			h := map[string]string{}
			if header != "" {
				h["Authorization"] = header
			}
			resp, body := raw(t, address, "GET", target, h, "")
			if first == "" {
				first = body
			}
			if resp.StatusCode != 401 || body != first || resp.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s at %s: %d %s", name, target, resp.StatusCode, body)
			}
		}
	}
	resp, _ := raw(t, address, "GET", "/v1/repos/widgets", map[string]string{"Authorization": "bearer " + ours}, "")
	if resp.StatusCode != 200 {
		t.Errorf("a scheme in small letters: %d, want 200 (RFC 9110 §11.1)", resp.StatusCode)
	}
}

func TestAFaultOfOursShowsNothingOfItself(t *testing.T) {
	b := openBench(t, "", &fakeForge{})
	broken := b.config
	broken.Registry = func() map[string]Registered { panic("with " + fakeToken) }
	b.config = broken
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	status, body := askBridge(t, server.URL+"/v1/repos/widgets", b.Local())
	if status != 500 || strings.Contains(body, "panic") || strings.Contains(body, fakeToken) || !strings.Contains(body, `"code":"internal"`) {
		t.Errorf("%d %s, want a fixed text", status, body)
	}
	if log := b.log.String(); strings.Contains(log, fakeToken) || !strings.Contains(log, "panic") {
		t.Errorf("log:\n%s", log)
	}
	if status, _ := askBridge(t, server.URL+"/v1/healthz", Secret{}); status != 200 {
		t.Errorf("healthz after it: %d", status)
	}
}

func TestASlowClientIsDroppedAndOthersAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBench(t, "", &fakeForge{})
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, l, b.Handler(), b.config.Logger) }()
		defer func() { cancel(); <-served }()
		slow := l.dial()
		began := time.Now()
		fmt.Fprintf(slow, "POST /v1/repos/widgets/issues/7/comments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: 01890a5d-ac96-774b-bcce-b302099a8057\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"body\":", b.Local().Reveal())
		if _, body := exchange(t, l.dial(), "GET /v1/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); body != "ok\n" {
			t.Errorf("another client got %q", body)
		}
		_, _ = io.Copy(io.Discard, slow)
		if took := time.Since(began); took > 45*time.Second {
			t.Errorf("it was dropped after %v", took)
		}
		if b.forge.called("Write") != 0 {
			t.Error("half a request was posted")
		}
	})
}

func TestRoutesAndOperationsAreTheSame(t *testing.T) {
	var ops []string
	for _, r := range routes() {
		ops = append(ops, r.op)
		q := Request{Op: r.op}
		if (r.method == http.MethodPost) != q.writes() || q.verb() == "" {
			t.Errorf("%s: %s, writes %v, verb %q", r.op, r.method, q.writes(), q.verb())
		}
	}
	slices.Sort(ops)
	if len(slices.Compact(ops)) != 10 {
		t.Errorf("operations %q, want ten", ops)
	}
}
