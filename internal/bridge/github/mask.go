package github

import (
	"regexp"
	"sync"

	"fleet/internal/bridge"
)

// masks are for what only logs have: the bridge's own list, which also refuses comments, must not
// take a word for a credential.
var masks = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// A token cut short by a log's own line ends, or by a mask of somebody else's.
		regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9._-]{8,}`),
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`),
		regexp.MustCompile(`(?i)(?:authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)([^\s"']{6,})`),
		regexp.MustCompile(`\b[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)[A-Z0-9_]*["']?\s*[:=]\s*["']?([^\s"'*]{6,})`),
		regexp.MustCompile(`(?i)\baws_(?:secret_access_key|session_token)["']?\s*[:=]\s*["']?([^\s"'*]{6,})`),
		regexp.MustCompile(`://([^\s/@]{8,})@`),
		regexp.MustCompile(`[?&](?:sig|signature|access_token|token|X-Amz-Signature|X-Amz-Credential)=([^\s&"']{6,})`),
	}
})

const masked = "[masked]"

// maskText takes credentials out of forge text. Names of variables stay, and so does the host of an
// address.
func maskText(s string) string {
	s = bridge.MaskCredentials(s)
	for _, m := range masks() {
		s = replaceSecret(m, s)
	}
	return s
}

// replaceSecret masks the group of each match, or all of it where the pattern has none.
func replaceSecret(m *regexp.Regexp, s string) string {
	found := m.FindAllStringSubmatchIndex(s, -1)
	for i := len(found) - 1; i >= 0; i-- {
		from, to := found[i][0], found[i][1]
		if len(found[i]) > 2 {
			from, to = found[i][2], found[i][3]
		}
		if s[from:to] != masked {
			s = s[:from] + masked + s[to:]
		}
	}
	return s
}
