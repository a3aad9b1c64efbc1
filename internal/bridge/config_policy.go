package bridge

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// policyKeys are a repository's keys that make its Policy.
func policyKeys() []string {
	return []string{"trusted_authors_only", "trusted_authors", "mass_mentions", "closing_keywords"}
}

const (
	refuseWords = "refuse"
	allowWords  = "allow"
)

func (p *configParser) policy(keys map[string]*yaml.Node, path string) Policy {
	policy := Policy{
		AllowMassMentions:     p.oneOf(keys["mass_mentions"], path+".mass_mentions", refuseWords, allowWords) == allowWords,
		RefuseClosingKeywords: p.oneOf(keys["closing_keywords"], path+".closing_keywords", refuseWords, allowWords) == refuseWords,
	}
	if at := keys["trusted_authors_only"]; at != nil {
		policy.TrustedAuthorsOnly = p.yes(at, path+".trusted_authors_only")
	}
	if at := keys["trusted_authors"]; at != nil {
		policy.TrustedAuthors = p.logins(at, path+".trusted_authors")
		if only := keys["trusted_authors_only"]; len(policy.TrustedAuthors) > 0 && (only == nil || only.Value == "false") {
			p.fault(at, path+".trusted_authors_only", "must be true where trusted_authors names somebody: without it nothing is withheld, and trusted_authors does nothing")
		}
	}
	return policy
}

func (p *configParser) logins(n *yaml.Node, path string) []string {
	if !p.kind(n, path, yaml.SequenceNode) {
		return nil
	}
	var all []string
	for i, item := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		login := p.text(item, at)
		if what := checkLogin(login); login != "" && what != "" {
			p.fault(item, at, what)
		}
		if login != "" && slices.Contains(all, login) {
			p.fault(item, at, "stands in the list already")
		}
		all = append(all, login)
	}
	return all
}

func (p *configParser) yes(n *yaml.Node, path string) bool {
	if !p.kind(n, path, yaml.ScalarNode) {
		return false
	}
	yes, err := strconv.ParseBool(n.Value)
	if n.ShortTag() != "!!bool" || err != nil {
		p.fault(n, path, "must be true or false")
	}
	return yes
}
