package bridge

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// moved is a forge on which acme/widgets has become number 77.
type moved struct {
	record
	status   int
	location string // "": where the repository went
}

func (m *moved) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.note(r)
	base, rest, ok := strings.Cut(r.URL.Path, "/repos/acme/widgets")
	if !ok {
		_, _ = fmt.Fprint(w, `{"id":77}`)
		return
	}
	location := m.location
	if location == "" {
		location = base + "/repositories/77" + rest
	}
	w.Header().Set("Location", location)
	w.WriteHeader(m.status)
}

func everyRedirect() []int { return []int{301, 302, 303, 307, 308} }

func TestAReadFollowsTheRepositoryByItsNumber(t *testing.T) {
	for _, base := range []string{"", "/api/v3"} {
		for _, status := range everyRedirect() {
			m := &moved{status: status}
			forge := serveOn(t, "127.0.0.1", m)
			g := guardOf(t, forge.URL+base+"/")

			// Before the number is known only the repository itself is followed: the answer tells it.
			_, _, err := ask(t.Context(), g, "GET", forge.URL+base+"/repos/acme/widgets/issues", "")
			if codeOf(err) != "conflict/repo_moved" {
				t.Errorf("%d: issues of an unknown number = %v", status, err)
			}
			if got, text, err := ask(t.Context(), g, "GET", forge.URL+base+"/repos/acme/widgets", ""); err != nil || got != 200 || text != `{"id":77}` {
				t.Errorf("%d: the repository = %d %q, %v", status, got, text, err)
			}
			if err := g.Learn("Acme/Widgets", 77); err != nil {
				t.Fatal(err)
			}
			if got, _, err := ask(t.Context(), g, "GET", forge.URL+base+"/repos/acme/widgets/issues?state=all", ""); err != nil || got != 200 {
				t.Errorf("%d: issues = %d, %v", status, got, err)
			}
			want := strings.ReplaceAll("GET B/repos/acme/widgets/issues; GET B/repos/acme/widgets; GET B/repositories/77; "+
				"GET B/repos/acme/widgets/issues?state=all; GET B/repositories/77/issues", "B", base)
			if m.all() != want {
				t.Errorf("%d: the forge saw %s, want %s", status, m.all(), want)
			}
			if n := strings.Count(m.signatures(), "Bearer "+sentinel); n != 5 {
				t.Errorf("%d: %d of 5 requests were signed", status, n)
			}
		}
	}
}

// The whole matrix of where a redirect may lead that is not the repository, for reads and writes.
func TestNoRedirectLeadsAwayFromTheRepository(t *testing.T) {
	var foreign record
	thief := serveOn(t, "127.0.0.2", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { foreign.note(r) }))
	port := serveOn(t, "127.0.0.1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { foreign.note(r) }))
	cases := map[string]string{
		"another host":            thief.URL + "/repositories/77/issues",
		"another port":            port.URL + "/repositories/77/issues",
		"another scheme":          "https://HOST/repositories/77/issues",
		"a host without scheme":   "//" + strings.TrimPrefix(thief.URL, "http://") + "/repositories/77/issues",
		"with a user":             "http://a:b@HOST/repositories/77/issues",
		"another number":          "/repositories/78/issues",
		"a longer number":         "/repositories/771/issues",
		"a number with a nought":  "/repositories/077/issues",
		"a number with a sign":    "/repositories/+77/issues",
		"another repository":      "/repos/acme/other/issues",
		"itself":                  "/repos/acme/widgets/issues",
		"the user":                "/user",
		"climbing":                "/repositories/77/../78/issues",
		"climbing escaped":        "/repositories/77/%2e%2e/78/issues",
		"climbing half escaped":   "/repositories/77/..%2f78/issues",
		"an empty part":           "/repositories/77//issues",
		"an address that is none": "http://[::1/%zz",
		"nowhere":                 "",
	}
	for name, location := range cases {
		for _, status := range everyRedirect() {
			var own record
			var forge string
			s := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				own.note(r)
				w.Header()["Location"] = []string{strings.ReplaceAll(location, "HOST", strings.TrimPrefix(forge, "http://"))}
				w.WriteHeader(status)
			}))
			forge = s.URL
			g := guardOf(t, forge)
			if err := g.Learn("acme/widgets", 77); err != nil {
				t.Fatal(err)
			}
			if _, _, err := ask(t.Context(), g, "GET", forge+"/repos/acme/widgets/issues", ""); codeOf(err) != "forbidden/redirect_refused" {
				t.Errorf("%s, %d: GET = %v", name, status, err)
			}
			_, _, err := ask(WithWrite(t.Context()), g, "POST", forge+"/repos/acme/widgets/issues", "{}")
			want := map[int]string{
				301: "conflict/repo_moved", 302: "outcome_unknown/redirected", 303: "outcome_unknown/redirected",
				307: "forbidden/redirect_refused", 308: "forbidden/redirect_refused",
			}[status]
			if codeOf(err) != want {
				t.Errorf("%s, %d: POST = %v, want %s", name, status, err, want)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "127.0.0.2") || strings.Contains(text, "%zz") {
				t.Errorf("%s, %d: the error names the redirect's address: %s", name, status, text)
			}
			if own.all() != "GET /repos/acme/widgets/issues; POST /repos/acme/widgets/issues {}" {
				t.Errorf("%s, %d: the forge saw %s", name, status, own.all())
			}
		}
	}
	if foreign.all() != "" {
		t.Errorf("another host saw %s", foreign.all())
	}
}

func TestAWriteFollowsOnceAndStaysAWrite(t *testing.T) {
	for _, status := range []int{307, 308} {
		m := &moved{status: status}
		forge := serveOn(t, "127.0.0.1", m)
		g := guardOf(t, forge.URL)
		const path, body = "/repos/acme/widgets/issues/1/comments", `{"body":"hello"}`

		ctx := WithWrite(t.Context())
		if _, _, err := ask(ctx, g, "POST", forge.URL+path, body); codeOf(err) != "conflict/repo_moved" || unclear(ctx) {
			t.Errorf("%d: without a number POST = %v", status, err)
		}
		if err := g.Learn("acme/widgets", 77); err != nil {
			t.Fatal(err)
		}
		if got, _, err := ask(WithWrite(t.Context()), g, "POST", forge.URL+path, body); err != nil || got != 200 {
			t.Errorf("%d: POST = %d, %v", status, got, err)
		}
		want := "POST " + path + " " + body + "; POST " + path + " " + body + "; POST /repositories/77/issues/1/comments " + body
		if m.all() != want {
			t.Errorf("%d: the forge saw %s, want %s", status, m.all(), want)
		}
	}
}

func TestAWriteIsNotLedOnOrAside(t *testing.T) {
	cases := map[string]func(path string) string{
		"on":    func(string) string { return "/repositories/77/issues/1/comments" },
		"aside": func(string) string { return "/repositories/77/issues/2/comments" },
	}
	for name, to := range cases {
		var own record
		forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			own.note(r)
			http.Redirect(w, r, to(r.URL.Path), http.StatusTemporaryRedirect)
		}))
		g := guardOf(t, forge.URL)
		if err := g.Learn("acme/widgets", 77); err != nil {
			t.Fatal(err)
		}
		ctx := WithWrite(t.Context())
		if _, _, err := ask(ctx, g, "POST", forge.URL+"/repos/acme/widgets/issues/1/comments", "{}"); codeOf(err) != "forbidden/redirect_refused" || unclear(ctx) {
			t.Errorf("%s: POST = %v, may be done %v", name, err, unclear(ctx))
		}
		if n := strings.Count(own.all(), "POST"); n > 2 || strings.Contains(own.all(), "issues/2") {
			t.Errorf("%s: the forge saw %s", name, own.all())
		}
	}
}

func TestAnOldRedirectNeverTurnsAWriteIntoARead(t *testing.T) {
	for status, want := range map[int]string{301: "conflict/repo_moved", 302: "outcome_unknown/redirected", 303: "outcome_unknown/redirected"} {
		m := &moved{status: status}
		forge := serveOn(t, "127.0.0.1", m)
		g := guardOf(t, forge.URL)
		if err := g.Learn("acme/widgets", 77); err != nil {
			t.Fatal(err)
		}
		ctx := WithWrite(t.Context())
		if _, _, err := ask(ctx, g, "POST", forge.URL+"/repos/acme/widgets/issues", "{}"); codeOf(err) != want {
			t.Errorf("%d: POST = %v, want %s", status, err, want)
		}
		if unclear(ctx) != (status != 301) {
			t.Errorf("%d: may be done %v", status, unclear(ctx))
		}
		if m.all() != "POST /repos/acme/widgets/issues {}" {
			t.Errorf("%d: the forge saw %s", status, m.all())
		}
	}
}

func TestARedirectThatNeverEndsDoes(t *testing.T) {
	var own record
	forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own.note(r)
		http.Redirect(w, r, "/repositories/77/issues", http.StatusMovedPermanently)
	}))
	g := guardOf(t, forge.URL)
	_, _, err := ask(t.Context(), g, "GET", forge.URL+"/repositories/77/issues", "")
	if n := strings.Count(own.all(), "GET"); codeOf(err) != "forbidden/redirect_refused" || n != 1+maxHops {
		t.Errorf("GET = %v after %d requests", err, n)
	}
}

func TestALogsRedirectComesBackOnlyToWhoAskedForIt(t *testing.T) {
	const signed = "https://logs.example/job?sig=s3cr3t"
	locations := map[string]struct{ location, want string }{
		"another host":         {signed, "<nil>"},
		"the same host beside": {"/_services/logs?sig=s3cr3t", "<nil>"},
		"the API itself":       {"/api/v3/user", "forbidden/redirect_refused"},
		"another repository":   {"/api/v3/repositories/78/actions/jobs/1/logs", "forbidden/redirect_refused"},
	}
	for name, tc := range locations {
		var own record
		forge := serveOn(t, "127.0.0.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			own.note(r)
			w.Header().Set("Location", tc.location)
			w.WriteHeader(http.StatusFound)
		}))
		g := guardOf(t, forge.URL+"/api/v3")
		if err := g.Learn("acme/widgets", 77); err != nil {
			t.Fatal(err)
		}
		address := forge.URL + "/api/v3/repos/acme/widgets/actions/jobs/1/logs"
		if _, _, err := ask(t.Context(), g, "GET", address, ""); codeOf(err) != "forbidden/redirect_refused" || strings.Contains(fmt.Sprint(err), "sig=") {
			t.Errorf("%s: without the mark GET = %v", name, err)
		}
		req, _ := http.NewRequestWithContext(WithLogRedirect(t.Context()), "GET", address, nil)
		resp, err := g.Client().Do(req)
		if codeOf(err) != tc.want {
			t.Errorf("%s: GET = %v, want %s", name, err, tc.want)
		}
		if err == nil {
			_ = resp.Body.Close()
			want := tc.location
			if strings.HasPrefix(want, "/") {
				want = forge.URL + want
			}
			if got := resp.Header.Get("Location"); resp.StatusCode != 302 || got != want {
				t.Errorf("%s: GET = %d to %q", name, resp.StatusCode, got)
			}
		}
		if n := strings.Count(own.all(), "GET"); n != 2 {
			t.Errorf("%s: the forge saw %s", name, own.all())
		}
	}
}

func TestANameThatWasTakenOverIsNoticed(t *testing.T) {
	g := guardOf(t, "http://127.0.0.1:1")
	for range 2 {
		if err := g.Learn("acme/widgets", 77); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Learn("ACME/widgets", 78); codeOf(err) != "conflict/repo_replaced" {
		t.Errorf("Learn of another number = %v", err)
	}
	if err := g.Learn("acme/other", 0); err == nil {
		t.Error("Learn took 0 for a number")
	}
}
