package bridge

import (
	"fmt"

	"fleet/api"
)

// MaxListItem bounds an item of a list as an agent sees it, in bytes of indented JSON: 200 tokens of
// four bytes. Providers keep within it.
const MaxListItem = 800

// screened gives v as agents may see it under p. What is withheld is said in its place, so that
// nobody takes it for empty; who wrote it, its state, its address and all counts stay. v is changed.
func (p Policy) screened(v any) (any, error) {
	if !p.TrustedAuthorsOnly {
		return v, nil
	}
	switch v := v.(type) {
	case *api.RepoInfo: // by who runs the repository
	case *api.List[api.IssueItem]:
		n := 0
		for i := range v.Items {
			item := &v.Items[i]
			n += p.screenItem(item.Author, func() int { return indentedSize(item, "    ") }, &item.Labels, &item.Title)
		}
		v.Withheld = explained(n)
	case *api.List[api.PullItem]:
		n := 0
		for i := range v.Items {
			item := &v.Items[i]
			n += p.screenItem(item.Author, func() int { return indentedSize(item, "    ") }, &item.Labels, &item.Title, &item.Head)
		}
		v.Withheld = explained(n)
	case *api.IssueView:
		what := map[bool]string{true: "pull request", false: "issue"}[v.Kind == "pull"]
		n := p.screenTexts(v.Author, what, &v.Text, &v.Title)
		v.Withheld = explained(n + p.screenComments(v.Comments, api.Author{Association: "OWNER"}))
	case *api.PullView:
		n := p.screenTexts(v.Author, "pull request", &v.Text, &v.Title, &v.Head)
		v.Withheld = explained(n + p.screenComments(v.Comments, v.Author))
	default: // a kind of answer that nobody thought of shows nothing
		return nil, internal(fmt.Errorf("no way to withhold anything of a %T", v))
	}
	return v, nil
}

// screenItem withholds an item's short texts, and says whether it did. Labels, which are the
// repository's own, make room where that makes the item too large.
func (p Policy) screenItem(by api.Author, size func() int, labels *[]string, texts ...*string) int {
	if p.trusts(by) {
		return 0
	}
	most := max(size(), MaxListItem)
	for _, text := range texts {
		withhold(text, by)
	}
	for all := *labels; size() > most && len(*labels) > 0; {
		kept := len(*labels) - 1
		if kept > 0 {
			kept--
		}
		if *labels = all[:kept:kept]; kept > 0 {
			*labels = append(*labels, fmt.Sprintf("… %d more", len(all)-kept))
		}
	}
	return 1
}

// screenTexts withholds what a view holds of its author, and says whether it did.
func (p Policy) screenTexts(by api.Author, what string, t *api.Text, short ...*string) int {
	if p.trusts(by) {
		return 0
	}
	for _, text := range short {
		withhold(text, by)
	}
	withholdText(t, what, by)
	return 1
}

// screenComments says how many comments it withheld. The path of a file in a pull request is whose
// the pull request is.
func (p Policy) screenComments(comments []api.Comment, pull api.Author) int {
	kinds := map[string]string{api.KindReview: "review", api.KindReviewComment: "review comment"}
	n := 0
	for i := range comments {
		c := &comments[i]
		if c.Path != "" && !p.trusts(pull) {
			withhold(&c.Path, pull)
		}
		if p.trusts(c.Author) || c.Body == "" {
			continue
		}
		what := kinds[c.Kind]
		if what == "" {
			what = "comment"
		}
		withholdText(&c.Text, what, c.Author)
		n++
	}
	return n
}

func withhold(text *string, by api.Author) {
	if *text != "" {
		*text = "[withheld: by " + who(by) + "]"
	}
}

func withholdText(t *api.Text, what string, by api.Author) {
	if t.Body != "" {
		*t = api.Text{Body: fmt.Sprintf("[withheld: this %s is by %s, who is not a trusted author of this repository; "+
			"ask a human to read it at url, or to add the login to trusted_authors]", what, who(by))}
	}
}

// who names an author with his standing.
func who(a api.Author) string {
	standing := a.Association
	if standing == "" {
		standing = "standing not told"
	}
	if a.Bot {
		standing += ", a bot"
	}
	return a.Login + " (" + standing + ")"
}

const (
	withheldWhy  = "the operator of this repository lets agents read trusted authors only (trusted_authors_only)"
	withheldNext = "ask a human to read it at its url and to tell you what matters, or to add the author's login to trusted_authors"
)

func explained(withheld int) string {
	if withheld == 0 {
		return ""
	}
	many := fmt.Sprintf("%d contributions", withheld)
	if withheld == 1 {
		many = "one contribution"
	}
	return fmt.Sprintf("the words of %s here are withheld: %s. Next: %s", many, withheldWhy, withheldNext)
}
