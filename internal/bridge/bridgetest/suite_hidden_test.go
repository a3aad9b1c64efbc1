package bridgetest_test

import (
	"fmt"
	"strings"
	"testing"

	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// hidings are ways to write a token in JSON so that its bytes don't stand in the answer, and a
// reader sees it all the same.
func hidings() map[string]func(token string) string {
	each := func(write func(r rune) string) func(string) string {
		return func(token string) string {
			var b strings.Builder
			for _, r := range token {
				b.WriteString(write(r))
			}
			return b.String()
		}
	}
	return map[string]func(string) string{
		"escaped":                  each(func(r rune) string { return fmt.Sprintf(`\u%04x`, r) }),
		"with zero-width spaces":   each(func(r rune) string { return string(r) + "\u200b" }),
		"with escaped joiners":     each(func(r rune) string { return string(r) + `\u200d` }),
		"with variation selectors": each(func(r rune) string { return string(r) + "\ufe0f" }),
		"in fullwidth letters":     each(func(r rune) string { return string(r - 0x21 + 0xFF01) }),
	}
}

// seen is a text as a reader sees it, whatever is written between its characters.
func seen(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 0x200B || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F:
			return -1
		case r >= 0xFF01 && r <= 0xFF5E:
			return r - 0xFF01 + 0x21
		}
		return r
	}, text)
}

func TestATokenThatTheForgeHidesShowsNowhere(t *testing.T) {
	stories := map[string]func(s *scene){}
	for name, hide := range hidings() {
		stories[name] = func(s *scene) {
			token := s.gh.AddToken("corp-"+strings.ToLower(rest(bridgetest.LongToken())), "fleet-bot").Text()
			s.open(token)
			i := s.repo.Issue("an issue")
			far := s.overHTTP()
			answers := map[string]string{}
			echo := func(status int, body string, r bridge.Request) {
				rule := s.gh.When("", "")
				rule.Answer(status, nil, strings.ReplaceAll(body, "TOKEN", hide(token)))
				for where, raw := range map[string]string{"": text(s.do(r)), " over HTTP": text(far.do(r))} {
					answers[fmt.Sprint(r.Op, " ", status, where)] = raw
				}
				rule.End()
			}
			echo(200, `[{"number":1,"title":"say TOKEN here","state":"open","user":{"login":"bob"},"labels":[{"name":"TOKEN"}]}]`, issues)
			if a := answers[issues.Op+" 200"]; !strings.Contains(a, "say [redacted] here") {
				s.Errorf("the list does not say that something was masked: %.300s", a)
			}
			for _, status := range []int{400, 403, 404, 422} {
				echo(status, `{"message":"you said TOKEN","errors":[{"message":"TOKEN"}]}`, pulls)
				echo(status, `{"message":"you said TOKEN","errors":[{"message":"TOKEN"}]}`, comment(i.Number(), fmt.Sprint("try ", status)))
			}
			for where, text := range s.traces() {
				answers[where] = text
			}
			for where, text := range answers {
				if i := strings.Index(seen(text), tail(token)); i >= 0 {
					s.Errorf("%s shows the token: %.300s", where, seen(text)[max(0, i-100):])
				}
			}
		}
	}
	cases(t, stories)
}
