package atlas

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Policy is what agents may read and post of a repository, through a bridge that lives in the
// ship. A bridge of its own process has its own.
type Policy struct {
	// TrustedAuthorsOnly withholds from agents what people outside wrote.
	TrustedAuthorsOnly bool `json:"trusted_authors_only,omitempty"`
	// TrustedAuthors are logins that are trusted beside those whom the forge calls OWNER, MEMBER or
	// COLLABORATOR. Without TrustedAuthorsOnly they would count for nothing, which is a fault.
	TrustedAuthors []string `json:"trusted_authors,omitempty"`
	// MassMentions says what becomes of a comment with @all and the like: Refuse, which "" is too,
	// or Allow.
	MassMentions string `json:"mass_mentions,omitempty"`
	// ClosingKeywords says what becomes of one with "fixes #1" and the like: Allow, which "" is
	// too, or Refuse.
	ClosingKeywords string `json:"closing_keywords,omitempty"`
}

// Values of MassMentions and ClosingKeywords.
const (
	Refuse = "refuse"
	Allow  = "allow"
)

var login = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(\[bot\])?$`)

// faults takes a nil Policy. The paths are those from the repository on.
func (p *Policy) faults() []fault {
	if p == nil {
		return nil
	}
	var found []fault
	for i, one := range p.TrustedAuthors {
		at := fmt.Sprintf("trusted_authors[%d]", i)
		switch {
		case strings.EqualFold(one, "ghost"):
			found = append(found, fault{at, fmt.Errorf("%s: %s stands for every deleted account and can't be trusted", at, one)})
		case len(one) > 100 || !login.MatchString(one):
			found = append(found, fault{at, fmt.Errorf("%s: it must be a login without @, such as octocat or dependabot[bot]", at)})
		case slices.Contains(p.TrustedAuthors[:i], one):
			found = append(found, fault{at, fmt.Errorf("%s: %s is there already", at, one)})
		}
	}
	if len(p.TrustedAuthors) > 0 && !p.TrustedAuthorsOnly {
		const at = "trusted_authors_only"
		found = append(found, fault{at, errors.New(at + " must be true where trusted_authors names somebody: without it nothing is withheld, and trusted_authors does nothing")})
	}
	for _, one := range [][2]string{{"mass_mentions", p.MassMentions}, {"closing_keywords", p.ClosingKeywords}} {
		if key, value := one[0], one[1]; value != "" && value != Refuse && value != Allow {
			found = append(found, fault{key, fmt.Errorf("%s is none of %s, %s", key, Refuse, Allow)})
		}
	}
	return found
}
