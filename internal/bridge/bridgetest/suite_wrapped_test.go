package bridgetest_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"fleet/internal/bridge"
	"fleet/internal/bridge/bridgetest"
)

// wrapped is text in base64 as coreutils' base64 prints it.
func wrapped(text, end string) string {
	var b strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(text))), 76) {
		b.WriteString(string(line) + end)
	}
	return b.String()
}

// A token in base64 was masked on one line alone, and printed where "base64" had wrapped it.
func TestATokenInWrappedBase64ShowsNowhere(t *testing.T) {
	// What decodes to it, whatever stands before it.
	shown := func(answer, token string) string {
		for lead := range 3 {
			form := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("~", lead) + token + "~~~"))
			if shows := half(answer, form[4:len(form)-8], 12); shows != "" {
				return shows
			}
		}
		return ""
	}
	stories := map[string]func(s *scene){}
	for kind, long := range map[string]bool{"a token": false, "an app's token": true} {
		token := func(s *scene) string {
			text := s.gh.NewToken("fleet-bot").Text()
			if long {
				text = s.gh.AddToken(bridgetest.LongToken(), "fleet-app[bot]").Text()
			}
			s.open(text)
			return text
		}
		stories[kind+" in an issue"] = func(s *scene) {
			token := token(s)
			i := s.repo.Issue("an issue").Body("data: |\r\n    " + wrapped("user: fleet, password: "+token+", and so on", "\r\n    ") + "the end")
			answer := text(s.do(viewOf(bridge.OpIssueView, i.Number())))
			if shows := shown(answer, token); shows != "" || !strings.Contains(answer, "the end") {
				s.Errorf("shows %q: %s", shows, answer)
			}
		}
		stories[kind+" in a log"] = func(s *scene) {
			token := token(s)
			p := s.repo.Pull("Fix")
			s.repo.Run("CI", p.Head()).Job("test").Fails("Run it", wrapped("user: fleet, password: "+token+", and so on", "\n")+"##[error]boom")
			answer := text(s.do(logsOf(p.Number())))
			if shows := shown(answer, token); shows != "" || !strings.Contains(answer, "boom") {
				s.Errorf("shows %q: %s", shows, answer)
			}
		}
		stories[kind+" in a comment of an agent"] = func(s *scene) {
			token := token(s)
			i := s.repo.Issue("an issue")
			answer := text(s.do(comment(i.Number(), "see "+wrapped("user: fleet, password: "+token, "\n> "))))
			if shown(answer, token) != "" || !strings.Contains(answer, "credential that the bridge uses") {
				s.Errorf("answer %s, want a refusal", answer)
			}
		}
	}
	cases(t, stories)
}
