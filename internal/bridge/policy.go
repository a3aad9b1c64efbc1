package bridge

import (
	"fmt"
	"slices"
	"strings"

	"fleet/api"
)

// Policy is what a repository's operator lets agents read and post there, beside what a ship was
// granted. The zero Policy lets them read everything, and post whatever mentions nobody in masses.
type Policy struct {
	// TrustedAuthorsOnly withholds what people outside wrote: whoever is neither OWNER, MEMBER nor
	// COLLABORATOR of the repository by the forge's word, and whoever the forge says nothing of.
	TrustedAuthorsOnly bool
	// TrustedAuthors are logins that are trusted all the same, such as "dependabot[bot]": bots have
	// no standing of their own. Large and small letters are the same.
	TrustedAuthors []string
	// AllowMassMentions lets agents post @all, @everyone and @ORGANIZATION/TEAM.
	AllowMassMentions bool
	// RefuseClosingKeywords refuses what a forge may close or mark an issue for, such as "fixes #1".
	RefuseClosingKeywords bool
}

// trusts says that a's words may be shown to agents.
func (p Policy) trusts(a api.Author) bool {
	if !p.TrustedAuthorsOnly {
		return true
	}
	switch a.Association {
	case "OWNER", "MEMBER", "COLLABORATOR":
		return true
	}
	return slices.ContainsFunc(p.TrustedAuthors, func(login string) bool { return strings.EqualFold(login, a.Login) })
}

// readKey tells apart policies under which a read comes to something else. "": all is shown.
func (p Policy) readKey() string {
	if !p.TrustedAuthorsOnly {
		return ""
	}
	var trusted []string
	for _, login := range p.TrustedAuthors {
		trusted = append(trusted, strings.ToLower(login))
	}
	slices.Sort(trusted)
	return fmt.Sprintf("trusted authors only %q", slices.Compact(trusted))
}

// samePolicy says that what agents may read was changed while c was read, or nil.
func (b *Broker) samePolicy(c *order) error {
	if b.config.Registry()[c.Repo].Policy.readKey() == c.policy.readKey() {
		return nil
	}
	return &api.Error{
		Code: api.Unavailable, Reason: "policy_changed", Message: "what agents may read of this repository was changed just now",
		Hint: "try again", RetryAfterSeconds: 1,
	}
}

// ghost is what a deleted account is called, every one of them.
const ghost = "ghost"

// checkLogin says what is wrong with a login of TrustedAuthors, or "".
func checkLogin(login string) string {
	name := strings.TrimSuffix(login, "[bot]")
	switch {
	case strings.EqualFold(login, ghost):
		return "stands for every deleted account and can't be trusted"
	case name == "" || len(login) > 100 || strings.Trim(name, nameBytes) != "" || strings.ContainsAny(name[:1], "._-"):
		return "must be a login without @, such as octocat or dependabot[bot]"
	}
	return ""
}
