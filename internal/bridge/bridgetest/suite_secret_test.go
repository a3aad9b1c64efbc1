package bridgetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// TestAForgesTokenShowsNowhere gives the bridge a random token of each kind, has the forge throw it
// back wherever it can, and looks for it in everything that leaves the bridge or stays on its disk.
func TestAForgesTokenShowsNowhere(t *testing.T) {
	kinds := map[string]func(s *scene) string{
		"a classic token":      func(s *scene) string { return s.gh.NewToken("fleet-bot").Text() },
		"a fine-grained token": func(s *scene) string { return s.gh.FineGrained("fleet-bot", everything...).Text() },
		"an installation's token of 520 characters": func(s *scene) string {
			return s.gh.AddToken(bridgetest.LongToken(), "fleet-app[bot]").Text()
		},
		"a token of a shape that nobody knows": func(s *scene) string {
			return s.gh.AddToken("corp-"+strings.ToLower(rest(bridgetest.LongToken())), "fleet-bot").Text()
		},
	}
	stories := map[string]func(s *scene){}
	for name, mint := range kinds {
		stories[name] = func(s *scene) {
			token := mint(s)
			s.open(token)
			answers := provoke(s, token)
			for where, text := range s.traces() {
				answers[where] = text
			}
			for where, text := range answers {
				if i := strings.Index(text, tail(token)); i >= 0 {
					s.Errorf("%s shows the token: …%.300s", where, text[max(0, i-100):])
				}
			}
			if len(s.gh.Requests()) == 0 || s.gh.Requests()[0].Header.Get("Authorization") != "Bearer "+token {
				s.Errorf("the forge was not asked with the token")
			}
		}
	}
	cases(t, stories)
}

var everything = []string{"issues:write", "pull_requests:write", "checks:read", "statuses:read", "actions:read", "contents:read"}

func rest(token string) string { return token[60:120] }

// tail is the end of a token, which must not show either.
func tail(token string) string { return token[len(token)-24:] }

// traces are the log and every file of the bridge, once it has ended.
func (s *scene) traces() map[string]string {
	s.Helper()
	if err := s.broker.Close(); err != nil {
		s.Fatal(err)
	}
	s.broker = nil
	found := map[string]string{"the log": s.log.String()}
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		found["the file "+filepath.Base(path)] = string(raw)
		return err
	})
	if err != nil || len(found["the file audit.jsonl"]) == 0 || len(found["the file bridge.db"]) == 0 {
		s.Fatalf("the bridge's files: %v", err)
	}
	return found
}

// provoke asks for everything, at a forge that shows the token wherever it can, and gives all
// answers and errors, in process and over HTTP.
func provoke(s *scene, token string) map[string]string {
	p := s.repo.Pull("Fix " + token).Body("body " + token)
	i := s.repo.Issue("Issue " + token)
	i.Comment("bob", "leaked: "+token)
	p.LineComment("bob", "a.go", 1, token)
	run := s.repo.Run("CI", p.Head())
	run.Job("test "+token).Fails("Run it", "TOKEN="+token+"\n##[error]boom").Annotate("a.go", 1, "failure", token)
	s.repo.Status(p.Head(), "ci", "failure", token)
	answers := map[string]string{}
	far := s.overHTTP()
	for n, r := range []bridge.Request{
		info,
		{Op: bridge.OpIssueList, State: "all"},
		pulls, viewOf(bridge.OpIssueView, i.Number()), viewOf(bridge.OpPRView, p.Number()),
		checksOf(p.Number()), logsOf(p.Number()), comment(i.Number(), "fine"), review(p.Number(), "COMMENT", "fine"), comment(i.Number(), token),
	} {
		answers[fmt.Sprint("answer ", n, " of ", r.Op)] = text(s.do(r))
		answers[fmt.Sprint("answer ", n, " of ", r.Op, " over HTTP")] = text(far.do(r))
	}
	for n, breaks := range throwBacks(token) {
		rule := s.gh.When("", "")
		breaks(rule)
		r := issues
		if n%2 == 1 {
			r = comment(i.Number(), fmt.Sprint("try ", n))
		}
		r.State = []string{"open", "closed", "all"}[n%3]
		answers[fmt.Sprint("throw-back ", n)] = text(s.do(r))
		answers[fmt.Sprint("throw-back ", n, " over HTTP")] = text(far.do(r))
		rule.End()
	}
	answers["a problem's body"] = s.problem(i.Number(), token)
	return answers
}

// throwBacks are answers that show the token. None of them leaves it open whether a write was done.
func throwBacks(token string) []func(*bridgetest.Rule) {
	body := `{"message":"you said ` + token + `","errors":[{"message":"` + token + `"}],"documentation_url":"https://x.example/?t=` + token + `"}`
	all := []func(*bridgetest.Rule){}
	for _, status := range []int{400, 401, 403, 404, 409, 410, 422, 451} {
		for range 2 {
			all = append(all, func(r *bridgetest.Rule) {
				r.Answer(status, map[string]string{"X-Echo": token, "X-Accepted-GitHub-Permissions": token, "X-GitHub-Request-Id": token}, body)
			})
		}
	}
	return append(all,
		func(r *bridgetest.Rule) {
			r.Answer(200, map[string]string{"Link": "<" + token + ">; rel=\"next\""}, body)
		},
		func(r *bridgetest.Rule) { r.Redirect(307, "http://"+tail(token)+".example/"+token) },
		func(r *bridgetest.Rule) { r.Redirect(301, "/"+token) },
	)
}

// shown is what is sent of an answer or an error, and text is that with the cause, for the log.
func shown(raw json.RawMessage, e *api.Error) string {
	if e == nil {
		return string(raw)
	}
	return e.Text() + " " + e.Reason
}

func text(raw json.RawMessage, e *api.Error) string {
	if e == nil {
		return string(raw)
	}
	return fmt.Sprintf("%s %s %v %+v", e.Text(), e.Reason, e.Err, e)
}

// problem is what an HTTP client sees of a refusal, headers too.
func (s *scene) problem(number int, token string) string {
	s.gh.When("POST", "").Times(1).Answer(422, map[string]string{"X-Echo": token}, `{"message":"`+token+`"}`)
	req := httptest.NewRequest(http.MethodPost, fmt.Sprintf("/v1/repos/widgets/issues/%d/comments", number), strings.NewReader(`{"body":"a problem"}`))
	req.Header.Set("Authorization", "Bearer "+s.broker.Local().Reveal())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.HeaderKey, uuid.Must(uuid.NewV7()).String())
	w := httptest.NewRecorder()
	s.broker.Handler().ServeHTTP(w, req)
	body, _ := io.ReadAll(w.Body)
	if w.Code != 400 || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/problem+json") {
		s.Errorf("the problem is HTTP %d, %v: %s", w.Code, w.Header(), body)
	}
	return fmt.Sprint(w.Header(), string(body))
}

func TestAPanicShowsNoToken(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	token := s.gh.NewToken("fleet-bot").Text()
	c := s.config
	c.Providers = map[string]func(*bridge.Guard, *slog.Logger) bridge.Provider{
		"github": func(g *bridge.Guard, _ *slog.Logger) bridge.Provider {
			panic(fmt.Sprintf("%v %+v %#v %s", g, g, g, token))
		},
	}
	s.openWith(c)
	far := s.overHTTP()
	for where, answer := range map[string]string{
		"in process": shown(s.do(info)), "over HTTP": shown(far.do(info)), "the log": s.log.String(),
	} {
		if strings.Contains(answer, tail(token)) || where != "the log" && !strings.Contains(answer, string(api.Internal)) {
			t.Errorf("%s: %s", where, answer)
		}
	}
	s.open(s.gh.Token())
	s.healthy()
}
