package bridge

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"fleet/api"
)

const (
	reasonMassMention    = "mass_mention"
	reasonClosingKeyword = "closing_keyword"

	maxQuoted = 60 // bytes of words that are quoted to who wrote them
)

// An issue or pull request as people write it, for the forge to make a link of it.
// See https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls.
const issueReference = `[*_~(\[<]*(?:(?:[a-z0-9_.-]+/[a-z0-9_.-]+)?#[0-9]+|gh-[0-9]+|https?://[^\s<>()\[\]]+/(?:issues|pulls?|discussions|merge_requests)/[0-9]+)`

var (
	// massMention is @all or @everyone, or a team with its organization. A login goes on with letters,
	// digits and dashes; what is before the @ may be anything but a letter or digit, or an address that
	// a forge makes a link of and that ends there.
	massMention = regexp.MustCompile(`(?i)(?:^|[^a-z0-9]|(?:www\.|://|@)[^\s@]*)(@[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9_.-]*|@(?:all|everyone))(?:$|[^a-z0-9-])`)
	// plainAddress may hold an @ that mentions nobody. Beyond these characters an address may end.
	plainAddress = regexp.MustCompile(`(?im)(^|[\s(])https?://[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+(?:/[a-z0-9.%+=&?@/-]*)?`)

	// See https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
	// and, for duplicates, the same pages: they are marked as soon as the comment stands.
	closingKeyword = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])((?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)[*_~]*(?::[*_~]*\s*|\s+)` + issueReference + `)`)
	duplicateOf    = regexp.MustCompile(`(?im)^[\s>*_~+-]*(duplicate of[*_~]*[:\s]+` + issueReference + `)`)

	backslashed = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
)

// checkBody refuses what makes a forge do more than post it, where that isn't allowed.
func (p Policy) checkBody(body string) error {
	var mass, closing []string
	for _, text := range readings(body) {
		if !p.AllowMassMentions && strings.Contains(text, "@") {
			mass = matches(mass, withoutAddresses(text), massMention)
		}
		if p.RefuseClosingKeywords && strings.ContainsAny(text, "0123456789") {
			closing = matches(matches(closing, text, closingKeyword), text, duplicateOf)
		}
	}
	switch {
	case len(mass) > 0:
		return &api.Error{
			Code: api.Forbidden, Reason: reasonMassMention,
			Message: "body calls many people at once (" + strings.Join(mass, ", ") + "); nothing was posted",
			Hint: "put the words in backticks (a package's name too, such as `@types/node`), or name one person; " +
				"if they must be called, ask a human to do it, or to allow mass_mentions for this repository",
		}
	case len(closing) > 0:
		return &api.Error{
			Code: api.Forbidden, Reason: reasonClosingKeyword,
			Message: "body holds words for which the forge may close an issue or mark it as a duplicate (" + strings.Join(closing, ", ") + "); nothing was posted",
			Hint: "write it in other words, such as \"see #1\", or put the words in backticks; if the issue is to be closed, ask a human to do it, " +
				"or to allow closing_keywords for this repository",
		}
	}
	return nil
}

// withoutAddresses takes out the addresses that a forge surely makes links of: it makes none in HTML,
// nor behind a bracket that is open, and what is behind code may be behind one.
// See https://github.github.com/gfm/#autolinks-extension-.
func withoutAddresses(text string) string {
	if hasTag(text) {
		return text
	}
	blocks := strings.Split(text, "\n\n")
	for i, block := range blocks {
		if !strings.ContainsAny(block, "[`") {
			blocks[i] = plainAddress.ReplaceAllString(block, "$1"+hole)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// readings are the ways in which a forge may read a body: as it stands, and with what Markdown and
// people's eyes make of it.
func readings(body string) []string {
	all := []string{prose(body)}
	if seen := CleanText(body); seen != body {
		all = append(all, prose(seen))
	}
	for _, text := range all {
		if plain := html.UnescapeString(backslashed.ReplaceAllString(text, "$1")); plain != text {
			all = append(all, plain)
		}
	}
	return all
}

// matches adds to found what pattern finds in text and isn't there yet; three of them say enough.
func matches(found []string, text string, pattern *regexp.Regexp) []string {
	for len(found) < 3 {
		at := pattern.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		words := strings.Join(strings.Fields(CleanText(text[at[2]:at[3]])), " ")
		words = strings.TrimRight(strings.ToValidUTF8(words[:min(len(words), maxQuoted)], ""), ".-_")
		if !slices.Contains(found, words) {
			found = append(found, words)
		}
		text = text[at[3]:] // what ends one may begin the next
	}
	return found
}
