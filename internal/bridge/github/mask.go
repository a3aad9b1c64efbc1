package github

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fleet/internal/bridge"
)

const masked = "[masked]"

// mask finds one kind of credential. The pattern is tried where one of the words is there, since
// it is far slower. Its group is what is masked, or all of it where it has none.
type mask struct {
	words   []string
	pattern *regexp.Regexp
}

// masks are for what logs have beside what the bridge looks for anywhere: that list also refuses
// comments, and must not take a word for a credential.
var masks = sync.OnceValue(func() []mask {
	return []mask{
		// A token that something stands right before, such as what is left of an escape.
		{[]string{"gh", "glpat-"}, regexp.MustCompile(`(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9._-]{36,}`)},
		// A token cut short, by the end of a line or by somebody else's mask.
		{[]string{"gh", "glpat-"}, regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9._-]{8,}`)},
		{[]string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`)},
		{[]string{"uthorization", "UTHORIZATION"}, regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([^\s"']{6,})`)},
		{[]string{"TOKEN", "SECRET", "PASSW", "KEY"}, regexp.MustCompile(`\b[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)[A-Z0-9_]*["']?\s*[:=]\s*["']?([^\s"'*]{6,})`)},
		{[]string{"aws_", "AWS_"}, regexp.MustCompile(`(?i)\baws_(?:secret_access_key|session_token)["']?\s*[:=]\s*["']?([^\s"'*]{6,})`)},
		{[]string{"://"}, regexp.MustCompile(`://([^\s/@]{8,})@`)},
		{[]string{"?", "&"}, regexp.MustCompile(`[?&](?:sig|signature|access_token|token|X-Amz-Signature|X-Amz-Credential)=([^\s&"']{6,})`)},
	}
})

// maskText takes credentials out of forge text. Names of variables stay, and so does the host of an
// address.
func maskText(s string) string {
	s = bridge.MaskCredentials(s)
	for _, m := range masks() {
		if slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(s, w) }) {
			s = m.replace(s)
		}
	}
	return s
}

func (m mask) replace(s string) string {
	var b strings.Builder
	last := 0
	for _, at := range m.pattern.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[len(at)-2], at[len(at)-1]
		b.WriteString(s[last:from] + masked)
		last = to
	}
	return b.String() + s[last:]
}

// maskJSON masks the texts of an answer as they read once they are decoded, where escapes hide
// nothing any more. It comes before anything is made of them: what a cut leaves of a credential,
// nobody knows for one.
func maskJSON(raw []byte, mask func(string) string) []byte {
	var out bytes.Buffer
	for {
		begin := bytes.IndexByte(raw, '"')
		if begin < 0 {
			out.Write(raw)
			return out.Bytes()
		}
		end := begin + literalSize(raw[begin:])
		out.Write(raw[:begin])
		out.Write(maskLiteral(raw[begin:end], mask))
		raw = raw[end:]
	}
}

// literalSize is how many bytes the text takes that s begins with; all, where it does not end.
func literalSize(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func maskLiteral(literal []byte, mask func(string) string) []byte {
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return literal // whoever decodes the whole will say so
	}
	clean := mask(text)
	if clean == text {
		return literal
	}
	encoded, _ := json.Marshal(clean) // a text: it cannot fail
	return encoded
}
