package bridgetest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

const maxComment = 65536

func showRepository(c *call) reply { return ok(c.whole(c.repo)) }

func listIssues(c *call) reply {
	if c.repo.noIssues {
		return refuse(http.StatusGone, "Issues are disabled for this repo")
	}
	state := cmp.Or(c.query.Get("state"), "open")
	return list(c, c.sorted(func(i *Issue) bool { return i.is(state) }), c.issue)
}

func listPulls(c *call) reply {
	state := cmp.Or(c.query.Get("state"), "open")
	return list(c, c.sorted(func(i *Issue) bool { return i.pull != nil && i.is(state) }), func(i *Issue) object { return c.pullSimple(i.pull) })
}

// is: closed pull requests are closed whether they were merged or not.
func (i *Issue) is(state string) bool {
	return !i.deleted && i.movedTo == nil && (state == "all" || (state == "closed") == !i.closed.IsZero())
}

// sorted gives the issues that keep says, newest first, as the request has them sorted.
func (c *call) sorted(keep func(*Issue) bool) []*Issue {
	var all []*Issue
	for _, i := range c.repo.issues {
		if keep(i) {
			all = append(all, i)
		}
	}
	key := func(i *Issue) time.Time { return i.created }
	if c.query.Get("sort") == "updated" {
		key = func(i *Issue) time.Time { return i.updated }
	}
	slices.SortStableFunc(all, func(a, b *Issue) int { return key(b).Compare(key(a)) })
	if c.query.Get("direction") == "asc" {
		slices.Reverse(all)
	}
	return all
}

// issueAsked is the issue of the address; nil: there is none.
func (c *call) issueAsked() *Issue {
	n, err := strconv.Atoi(cmp.Or(c.params["issue_number"], c.params["pull_number"]))
	if err != nil || c.repo == nil {
		return nil
	}
	return c.repo.issue(n)
}

// withIssue answers for an issue that is not there (any more).
func (c *call) withIssue(serve func(*Issue) reply) reply {
	i := c.issueAsked()
	switch {
	case i == nil, i.pull == nil && c.repo.noIssues && i.movedTo == nil && c.params["pull_number"] != "":
		return refuse(http.StatusNotFound, "Not Found")
	case i.movedTo != nil:
		to := i.movedTo
		_, below, _ := strings.Cut(c.named(), "/issues/"+number(i.number))
		return c.leadTo(c.base + "/repositories/" + number(to.repo.id) + "/issues/" + number(to.number) + below)
	case i.deleted:
		return refuse(http.StatusGone, "This issue was deleted")
	case i.pull == nil && c.repo.noIssues:
		return refuse(http.StatusGone, "Issues are disabled for this repo")
	case c.params["pull_number"] != "" && i.pull == nil:
		return refuse(http.StatusNotFound, "Not Found")
	}
	return serve(i)
}

func showIssue(c *call) reply {
	return c.withIssue(func(i *Issue) reply { return ok(c.issue(i)) })
}

func listComments(c *call) reply {
	return c.withIssue(func(i *Issue) reply {
		since, _ := time.Parse(time.RFC3339, c.query.Get("since"))
		all := slices.DeleteFunc(slices.Clone(i.comments), func(k *Comment) bool { return k.updated.Before(since) })
		return list(c, all, c.comment)
	})
}

func postComment(c *call) reply {
	return c.withIssue(func(i *Issue) reply {
		var in struct{ Body string }
		if json.Unmarshal(c.body, &in) != nil {
			return refuse(http.StatusBadRequest, "Problems parsing JSON")
		}
		if r := c.mayWrite(i, in.Body); r != nil {
			return *r
		}
		if strings.TrimSpace(in.Body) == "" {
			return invalid(object{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body cannot be blank"})
		}
		k := i.comment(c.token.login, in.Body, now())
		return created(c.comment(k)).with("Location", c.base+"/repos/"+c.repo.path()+"/issues/comments/"+number(k.id))
	})
}

// now has no fractions of a second, as the forge's times have none.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func (c *call) mayWrite(i *Issue, body string) *reply {
	var r reply
	switch {
	case i.locked && !c.repo.pushes(c.token.login):
		r = refuse(http.StatusForbidden, "Unable to create comment because issue is locked.")
	case len(utf16.Encode([]rune(body))) > maxComment:
		r = invalid(object{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body is too long (maximum is 65536 characters)"})
	default:
		return nil
	}
	return &r
}
