package bridgetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// graphQL answers the questions for which REST has no answer, by a schema written by hand: a field
// that it lacks is refused as GitHub refuses one, and is a violation.
// See https://docs.github.com/graphql/reference/objects#pullrequestreviewthread.
func graphQL(c *call) reply {
	if c.token == nil {
		return refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	}
	var in struct {
		Query     string
		Variables map[string]any
	}
	if json.Unmarshal(c.body, &in) != nil || in.Query == "" {
		return refuse(http.StatusBadRequest, "A query attribute must be specified and must be a string.")
	}
	asked, err := parseQuery(in.Query, in.Variables)
	if err != nil {
		c.gh.violate("a GraphQL query that is none: %v", err)
		return ok(object{"errors": []any{object{"message": "Parse error: " + err.Error()}}})
	}
	data, err := c.queryRoot().pick("Query", asked)
	if err == nil {
		return ok(object{"data": data})
	}
	e := object{"message": err.Error()}
	if f, isForge := err.(forgeError); isForge {
		e["type"] = f.kind
		return ok(object{"data": object{"repository": nil}, "errors": []any{e}})
	}
	c.gh.violate("GraphQL: %v", err)
	return ok(object{"errors": []any{e}})
}

// forgeError is what GitHub itself says of a good query.
type forgeError struct{ kind, message string }

func (e forgeError) Error() string { return e.message }

// badQuery is what GitHub says of a query that its schema does not have.
type badQuery string

func (e badQuery) Error() string { return string(e) }

// thing is an object of the schema: its fields, each with a way to its value.
type thing map[string]func(field) (any, error)

func constant(v any) func(field) (any, error) { return func(field) (any, error) { return v, nil } }

// pick answers with the fields that are asked for, and no others.
func (t thing) pick(kind string, fields []field) (object, error) {
	out := object{}
	for _, f := range fields {
		resolve := t[f.name]
		if resolve == nil {
			return nil, badQuery("Field '" + f.name + "' doesn't exist on type '" + kind + "'")
		}
		v, err := resolve(f)
		if err != nil {
			return nil, err
		}
		if out[f.name], err = pickIn(f, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func pickIn(f field, v any) (any, error) {
	switch v := v.(type) {
	case thing:
		return v.pick(f.name, f.fields)
	case []thing:
		all := []any{}
		for _, one := range v {
			picked, err := one.pick(f.name, f.fields)
			if err != nil {
				return nil, err
			}
			all = append(all, picked)
		}
		return all, nil
	}
	return v, nil
}

func (c *call) queryRoot() thing {
	return thing{
		"viewer": constant(thing{"login": constant(c.token.login), "databaseId": constant(c.gh.who(c.token.login).id)}),
		"rateLimit": constant(thing{
			"cost": constant(1), "limit": constant(c.gh.quota.limit), "remaining": constant(c.gh.quota.limit - c.gh.quota.used),
			"resetAt": constant(when(c.gh.quota.reset)),
		}),
		"repository": func(f field) (any, error) {
			r, _ := c.gh.locate(fmt.Sprint(f.args["owner"], "/", f.args["name"]))
			if r == nil || !c.token.sees(r) {
				return nil, forgeError{"NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%v/%v'.", f.args["owner"], f.args["name"])}
			}
			if !c.token.has(pullsRead) {
				return nil, forgeError{"FORBIDDEN", c.token.lacks()}
			}
			return r.graph(), nil
		},
	}
}

func (r *Repo) graph() thing {
	return thing{
		"databaseId": constant(r.id), "nameWithOwner": constant(r.path()),
		"pullRequests": func(f field) (any, error) {
			var all []thing
			for _, i := range r.issues {
				if i.pull != nil && i.pull.branch == f.args["headRefName"] {
					all = append(all, i.pull.graph())
				}
			}
			return connection(f, all)
		},
		"pullRequest": func(f field) (any, error) {
			n, _ := strconv.Atoi(fmt.Sprint(f.args["number"]))
			i := r.issue(n)
			if i == nil || i.pull == nil {
				return nil, forgeError{"NOT_FOUND", fmt.Sprintf("Could not resolve to a PullRequest with the number of %v.", f.args["number"])}
			}
			return i.pull.graph(), nil
		},
	}
}

func (p *Pull) graph() thing {
	return thing{
		"number": constant(p.issue.number), "title": constant(p.issue.title), "headRefOid": constant(p.head),
		"headRepository": constant(thing{"name": constant(p.repo.name), "owner": constant(thing{"login": constant(p.repo.owner)})}),
		"reviewThreads": func(f field) (any, error) {
			var all []thing
			for _, t := range p.threads {
				all = append(all, t.graph())
			}
			return connection(f, all)
		},
	}
}

func (t *Thread) graph() thing {
	return thing{
		"id": constant(node("PullRequestReviewThread", t.ID())), "isResolved": constant(t.resolved), "isOutdated": constant(t.outdated),
		"path": constant(t.path), "line": constant(t.line),
		"comments": func(f field) (any, error) {
			var all []thing
			for _, k := range t.comments {
				all = append(all, thing{
					"url": constant(k.address()), "id": constant(node("PullRequestReviewComment", k.id)), "body": constant(k.body),
					"fullDatabaseId": constant(number(k.id)),
				})
			}
			return connection(f, all)
		},
	}
}

// connection is a page of things. GitHub asks for first or last, of at most 100.
func connection(f field, all []thing) (any, error) {
	size, err := strconv.Atoi(fmt.Sprint(f.args["first"]))
	if err != nil || size < 1 || size > 100 {
		return nil, badQuery("You must provide a `first` or `last` value to properly paginate the `" + f.name + "` connection")
	}
	at := 0
	if after, ok := f.args["after"].(string); ok {
		raw, _ := base64.StdEncoding.DecodeString(after)
		if at, err = strconv.Atoi(string(raw)); err != nil {
			return nil, badQuery("`" + after + "` does not appear to be a valid cursor")
		}
	}
	end := min(at+size, len(all))
	return thing{
		"totalCount": constant(len(all)), "nodes": constant(all[min(at, end):end]),
		"pageInfo": constant(thing{
			"hasNextPage": constant(end < len(all)), "endCursor": constant(base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end)))),
		}),
	}, nil
}
