package bridge

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// masked is what stands in the place of a credential that is known by its shape alone.
const masked = "[masked]"

// shape is what a kind of credential looks like. The first group is the secret part.
type shape struct {
	marks   []string // one of them is in every match: looking for them is quick
	pattern *regexp.Regexp
	likely  func(secret string) bool // nil: whatever matches
}

// shapes compiles the patterns once. What forges document of their own tokens comes first: a
// GitHub installation token is a JWT of some 520 characters by now.
//
// See https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats
// and https://docs.gitlab.com/security/tokens/#token-prefixes.
var shapes = sync.OnceValue(func() []shape {
	var all []shape
	add := func(marks, pattern string, likely func(string) bool) {
		all = append(all, shape{strings.Fields(marks), regexp.MustCompile(pattern), likely})
	}
	// Where the prefix is like no word, what stands before it doesn't matter: a letter is put there
	// too easily.
	const start = `(?:^|[^A-Za-z0-9])`
	add("ghp_ gho_ ghu_ ghs_ ghr_", `(gh[pousr]_[A-Za-z0-9._-]{36,})`, nil)
	add("github_pat_", `(github_pat_[A-Za-z0-9_]{22,})`, nil)
	add("gl", `(gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{20,})`, nil)
	add("AKIA ASIA", start+`((?:AKIA|ASIA)[A-Z0-9]{16})(?:$|[^A-Za-z0-9])`, nil)
	add("-----BEGIN", `(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?)`, nil)
	add("eyJ", `(?:^|[^A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,})`, nil)
	add("xox", start+`(xox[abeprs]-[A-Za-z0-9-]{20,})`, nil)
	add("sk-", start+`(sk-(?:ant|proj|svcacct)-[A-Za-z0-9_-]{20,})`, nil)
	add("k_live_", `([rs]k_live_[A-Za-z0-9]{20,})`, nil)
	add("npm_", `(npm_[A-Za-z0-9]{36})`, nil)
	add("AIza", `(AIza[A-Za-z0-9_-]{35})`, nil)
	add("fleet_ship_", `(fleet_ship_[A-Za-z0-9_-]{43,})`, mixedCase)
	add("fleet_", `(fleet_[A-Za-z0-9_-]{43,})`, mixed)
	add("://", `(?i)[a-z][a-z0-9+.-]*://[^\s/?#@:]*:([^\s/?#@]+)@`, notPlaceholder)
	return all
})

// mixed tells random characters from a long name in a program.
func mixed(s string) bool {
	return strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsDigit)
}

// mixedCase is for a prefix with which no long name begins: of random characters, a few in ten
// thousand hold no digit.
func mixedCase(s string) bool {
	return strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s[len(shipPrefix):], unicode.IsLower)
}

// notPlaceholder tells a password in an address from a word that stands for one.
func notPlaceholder(s string) bool {
	return !strings.ContainsAny(s[:1], "$<{[*") && strings.Trim(strings.ToLower(s), "x*.") != ""
}

// find gives where, in text, the secret parts begin and end.
func (s shape) find(text string) [][2]int {
	var found [][2]int
	if !slices.ContainsFunc(s.marks, func(mark string) bool { return strings.Contains(text, mark) }) {
		return nil
	}
	for _, at := range s.pattern.FindAllStringSubmatchIndex(text, -1) {
		if s.likely == nil || s.likely(text[at[2]:at[3]]) {
			found = append(found, [2]int{at[2], at[3]})
		}
	}
	return found
}

// holdsCredential says that text holds something shaped like a forge token, a cloud's or package
// registry's key, a private key, a signed token, one of Fleet's own, or a password in an address.
// Characters that nobody sees, and other forms of the same letters, hide none of them.
func holdsCredential(text string) bool {
	if f, differs := fold(text); differs && hasShape(f.text) {
		return true
	}
	return hasShape(text)
}

func hasShape(text string) bool {
	return slices.ContainsFunc(shapes(), func(s shape) bool { return len(s.find(text)) > 0 })
}

// MaskCredentials puts "[masked]" in the place of everything that holdsCredential looks for. What
// stands around it, such as the name of a variable, stays.
func MaskCredentials(text string) string {
	for _, s := range shapes() {
		text = replaceSpans(text, s.find(text), masked)
	}
	if f, differs := fold(text); !differs || !hasShape(f.text) {
		return text
	}
	for _, s := range shapes() {
		f, differs := fold(text)
		if !differs {
			break
		}
		text = replaceSpans(text, f.spans(s.find(f.text)), masked)
	}
	return text
}

// replaceSpans puts a word in the place of each span of text; they are in order, and apart.
func replaceSpans(text string, spans [][2]int, word string) string {
	var b strings.Builder
	last := 0
	for _, at := range spans {
		b.WriteString(text[last:at[0]])
		b.WriteString(word)
		last = at[1]
	}
	return b.String() + text[last:]
}
