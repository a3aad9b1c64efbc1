package bridgetest_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"fleet/api"
	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// shape-less token: nothing but the guard's exact mask can know it.
func corp(s *scene) string {
	token := s.gh.AddToken("corp-"+strings.ToLower(rest(bridgetest.LongToken())), "fleet-bot").Text()
	s.open(token)
	return token
}

func escapedJSON(token string) string {
	var b strings.Builder
	for _, r := range token {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// half says that text shows n or more characters of token in a row.
func half(text, token string, n int) string {
	for i := 0; i+n <= len(token); i++ {
		if strings.Contains(text, token[i:i+n]) {
			return token[i : i+n]
		}
	}
	return ""
}

// A provider that shortens a text may cut a token in its middle; the exact mask comes after it.
func TestATokenCutByShorteningShowsNoHalf(t *testing.T) {
	cases(t, map[string]func(s *scene){
		"the body of an issue, escaped": func(s *scene) {
			token := corp(s)
			i := s.repo.Issue("an issue")
			s.gh.When("GET", "/repos/*/*/issues/*").Answer(200, nil, `{"number":`+fmt.Sprint(i.Number())+`,"title":"t","state":"open","user":{"login":"bob"},"body":"`+strings.Repeat("x", 8192-50)+escapedJSON(token)+`"}`)
			answer := text(s.do(viewOf(bridge.OpIssueView, i.Number())))
			if shows := half(answer, token, 16); shows != "" {
				s.Errorf("shows %q: …%s", shows, answer[strings.Index(answer, shows)-20:strings.Index(answer, shows)+60])
			}
		},
		"the body of an issue, the real 520-character token": func(s *scene) {
			token := s.gh.AddToken(bridgetest.LongToken(), "fleet-app[bot]").Text()
			s.open(token)
			i := s.repo.Issue("an issue")
			s.gh.When("GET", "/repos/*/*/issues/*").Answer(200, nil, `{"number":`+fmt.Sprint(i.Number())+`,"title":"t","state":"open","user":{"login":"bob"},"body":"`+strings.Repeat("x", 8192-500)+escapedJSON(token)+`"}`)
			answer := text(s.do(viewOf(bridge.OpIssueView, i.Number())))
			if shows := half(answer, token, 400); shows != "" {
				s.Errorf("shows 400 of its %d characters", len(token))
			}
		},
		"an error's quote, escaped": func(s *scene) {
			token := corp(s)
			s.gh.When("", "").Answer(422, nil, `{"message":"`+strings.Repeat("x ", 130)+escapedJSON(token)+`"}`)
			answer := text(s.do(issues)) + s.log.String()
			if shows := half(answer, token, 16); shows != "" {
				s.Errorf("shows %q: %.600s", shows, answer)
			}
		},
		"a check's own words, escaped": func(s *scene) {
			token := corp(s)
			p := s.repo.Pull("Fix")
			s.gh.When("GET", "/repos/*/*/commits/*/status").Answer(200, nil, `{"state":"failure","total_count":1,"sha":"`+p.Head()+`","statuses":[{"id":1,"state":"failure","context":"ci","description":"`+strings.Repeat("x", 150)+escapedJSON(token)+`"}]}`)
			s.gh.When("GET", "/repos/*/*/commits/*/statuses").Answer(200, nil, `[{"id":1,"state":"failure","context":"ci","description":"`+strings.Repeat("x", 150)+escapedJSON(token)+`"}]`)
			answer := text(s.do(checksOf(p.Number())))
			if !strings.Contains(answer, "xxxx") {
				s.Fatalf("not shown: %s", answer)
			}
			if shows := half(answer, token, 16); shows != "" {
				s.Errorf("shows %q: %.900s", shows, answer)
			}
		},
		"a line of a log, as it is": func(s *scene) {
			token := corp(s)
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Fails("Run it", strings.Repeat("x", 2048-50)+" "+token+"\n##[error]boom")
			answer := text(s.do(logsOf(p.Number())))
			if !strings.Contains(answer, "boom") {
				s.Fatalf("no log: %s", answer)
			}
			if shows := half(answer, token, 16); shows != "" {
				s.Errorf("shows %q", shows)
			}
		},
		"a line of a log, a token split by colours": func(s *scene) {
			token := corp(s)
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Fails("Run it", "x "+token[:20]+"\x1b[31m"+token[20:]+"\n##[error]boom")
			if shows := half(text(s.do(logsOf(p.Number()))), token, 16); shows != "" {
				s.Errorf("shows %q", shows)
			}
		},
	})
}

// Usual spellings of a token: as git sends it, as "echo $T | base64" prints it, wrapped, in an address.
func TestATokenInBase64ShowsNowhere(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	stories := map[string]func(s *scene){}
	for name, spell := range map[string]func(token string) string{
		"by itself":             func(token string) string { return encode(token) },
		"with an end of line":   func(token string) string { return encode(token + "\n") },
		"as git sends it":       func(token string) string { return encode("x-access-token:" + token) },
		"behind a user of four": func(token string) string { return encode("oaut:" + token) },
		"behind a user of five": func(token string) string { return encode("oauth:" + token) },
		"as a header":           func(token string) string { return encode("Authorization: Bearer " + token) },
		"for addresses":         func(token string) string { return base64.URLEncoding.EncodeToString([]byte("~~~" + token + "~~~")) },
	} {
		stories[name] = func(s *scene) {
			token := s.gh.NewToken("fleet-bot").Text()
			s.open(token)
			i := s.repo.Issue("an issue").Body("say " + spell(token) + " here")
			answer := text(s.do(viewOf(bridge.OpIssueView, i.Number())))
			_, after, ok := strings.Cut(answer, "say ")
			said, _, _ := strings.Cut(after, " here")
			if !ok {
				s.Fatalf("answer %.300s", answer)
			}
			for _, form := range strings.FieldsFunc(said, func(r rune) bool { return strings.ContainsRune("[]… ", r) }) {
				for skip := range 4 {
					for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
						if len(form) <= skip {
							continue
						}
						raw := strings.TrimRight(form[skip:], "=")
						plain, _ := coding.DecodeString(raw[:len(raw)-len(raw)%4])
						if shows := half(string(plain), token, 20); shows != "" {
							s.Errorf("%q decodes to %q", said, plain)
							return
						}
					}
				}
			}
		}
	}
	cases(t, stories)
}

// The bridge knows the credential that it holds, whatever its shape.
func TestACommentWithTheLiveCredentialIsRefused(t *testing.T) {
	cases(t, map[string]func(s *scene){"of a shape that nobody knows": func(s *scene) {
		token := corp(s)
		i := s.repo.Issue("an issue")
		get[api.IssueView](s, viewOf(bridge.OpIssueView, i.Number()))
		if raw, e := s.do(comment(i.Number(), "it is "+token)); e == nil {
			s.Errorf("posted: %s %q", raw, i.Texts())
		}
	}})
}
