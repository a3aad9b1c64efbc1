package github

import (
	"strings"
	"time"
	"unicode/utf8"

	gh "github.com/google/go-github/v89/github"

	"fleet/api"
)

const (
	maxText    = 8 << 10 // bytes of one text
	maxSummary = 200     // bytes of a check's one line
	maxDetail  = 2000    // bytes of what a check that is no job says of its failure
)

// author names who wrote something. GitHub gives no user for a deleted account.
func author(u *gh.User, association string) api.Author {
	if u.GetLogin() == "" {
		return api.Author{Login: "ghost", Association: association}
	}
	return api.Author{
		Login: u.GetLogin(), Association: association,
		Bot: u.GetType() == "Bot" || strings.HasSuffix(u.GetLogin(), "[bot]"),
	}
}

func logins(users []*gh.User) []string {
	var names []string
	for _, u := range users {
		names = append(names, author(u, "").Login)
	}
	return names
}

func labelNames(labels []*gh.Label) []string {
	var names []string
	for _, l := range labels {
		names = append(names, l.GetName())
	}
	return names
}

func text(body string) api.Text {
	cut := cutText(body, maxText)
	return api.Text{Body: cut, Truncated: len(cut) < len(body)}
}

// cutText gives at most max bytes of s, of whole characters.
func cutText(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// shorten is cutText with a mark where something was left out, for titles and summaries.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.TrimSpace(cutText(s, max-len("…"))) + "…"
}

// oneLine is for a check's own words.
func oneLine(s string) string {
	return shorten(maskText(strings.Join(strings.Fields(s), " ")), maxSummary)
}

func timePointer(t *gh.Timestamp) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}
