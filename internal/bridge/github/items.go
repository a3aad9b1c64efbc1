package github

import (
	"encoding/json"
	"fmt"

	"fleet/api"
	"fleet/internal/bridge"
)

// fitIssue leaves out labels, and then the end of the title, until the item is small enough.
func fitIssue(i api.IssueItem) api.IssueItem {
	fit(func() int { return itemSize(i) }, &i.Labels, &i.Title)
	return i
}

// fitPull likewise. Branches are cut last: half a name is no name.
func fitPull(pull api.PullItem) api.PullItem {
	fit(func() int { return itemSize(pull) }, &pull.Labels, &pull.Title, &pull.Head, &pull.Base)
	return pull
}

func fit(size func() int, labels *[]string, texts ...*string) {
	all := *labels
	// No more labels than bytes can fit, however short they are.
	for n := min(len(all), bridge.MaxListItem) - 1; n >= 0 && size() > bridge.MaxListItem; n-- {
		*labels = append(all[:n:n], fmt.Sprintf("… %d more", len(all)-n))
	}
	for _, t := range texts {
		if over := size() - bridge.MaxListItem; over > 0 {
			*t = shorten(*t, max(len(*t)-over, min(len(*t), 60)))
		}
	}
}

func itemSize(v any) int { return indented(v, "    ") }

// indented is how many bytes v takes, with comma and line end, in JSON indented by two blanks. The
// encoder escapes <, > and &, so that it is never too little.
func indented(v any, prefix string) int {
	raw, err := json.MarshalIndent(v, prefix, "  ")
	if err != nil {
		return 0
	}
	return len(prefix) + len(raw) + 2
}
