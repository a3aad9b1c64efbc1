package bridgetest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// web is where people look at things.
const web = "https://github.example/"

type object = map[string]any

func number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// when gives a time as GitHub writes it; nil for the zero time.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// text gives nil for none.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func node(kind string, id int64) string {
	return base64.RawStdEncoding.EncodeToString(fmt.Appendf(nil, "0:%s%d", kind, id))
}

// links adds addresses below one that differ by their last part alone: "issues=issue_events" is
// issues_url, which ends in /issue_events.
func links(o object, below, list string) object {
	for one := range strings.FieldsSeq(list) {
		name, end, ok := strings.Cut(one, "=")
		if !ok {
			end = name
		}
		o[name+"_url"] = below + "/" + end
	}
	return o
}

func merge(o object, more ...object) object {
	for _, m := range more {
		for k, v := range m {
			o[k] = v
		}
	}
	return o
}

// user shows an account; nil for a ghost.
func (c *call) user(login string) any {
	if login == "" {
		return nil
	}
	return c.account(c.gh.who(login))
}

// somebody shows an account where GitHub has no null: a ghost has an account of its own there.
func (c *call) somebody(login string) any {
	if login == "" {
		login = "ghost"
	}
	return c.user(login)
}

func (c *call) users(logins []string) []any {
	all := []any{}
	for _, l := range logins {
		all = append(all, c.user(l))
	}
	return all
}

func (c *call) account(a *account) object {
	at := c.base + "/users/" + a.login
	return links(object{
		"login": a.login, "id": a.id, "node_id": node("User", a.id), "avatar_url": web + "avatars/" + number(a.id),
		"gravatar_id": "", "url": at, "html_url": web + a.login, "type": a.kind, "site_admin": false,
	}, at, "followers following gists starred subscriptions organizations=orgs repos events received_events")
}

// me is what an account sees of itself.
func (c *call) me(a *account) object {
	created := when(c.gh.clock)
	return merge(c.account(a), object{
		"name": a.login, "company": nil, "blog": "", "location": nil, "email": nil, "hireable": nil, "bio": nil,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0, "created_at": created, "updated_at": created,
		"private_gists": 0, "total_private_repos": 0, "owned_private_repos": 0, "disk_usage": 0, "collaborators": 0,
		"two_factor_authentication": true, "user_view_type": "private",
	})
}

// minimal shows of a repository what stands in other things.
func (c *call) minimal(r *Repo) object {
	at := c.base + "/repos/" + r.path()
	return links(object{
		"id": r.id, "node_id": node("Repository", r.id), "name": r.name, "full_name": r.path(), "owner": c.somebody(r.owner),
		"private": r.private, "html_url": web + r.path(), "description": text(r.description), "fork": false, "url": at,
		"git_url": "git://github.example/" + r.path() + ".git", "ssh_url": "git@github.example:" + r.path() + ".git",
	}, at, `archive assignees blobs=git/blobs branches collaborators comments commits compare contents contributors
		deployments downloads events forks git_commits=git/commits git_refs=git/refs git_tags=git/tags
		issue_comment=issues/comments issue_events=issues/events issues keys labels languages merges milestones
		notifications pulls releases stargazers statuses subscribers subscription tags teams trees=git/trees hooks`)
}

// within shows a repository where a pull request has it.
func (c *call) within(r *Repo) object {
	open := 0
	for _, i := range r.issues {
		if i.closed.IsZero() && !i.deleted {
			open++
		}
	}
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	return merge(c.minimal(r), object{
		"clone_url": web + r.path() + ".git", "default_branch": "main", "forks": 0, "forks_count": 0, "has_issues": !r.noIssues,
		"has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": true, "has_discussions": false,
		"homepage": nil, "language": "Go", "archived": r.archived, "disabled": false, "mirror_url": nil, "open_issues": open,
		"open_issues_count": open, "license": nil, "pushed_at": when(c.gh.clock), "size": 42, "stargazers_count": 3,
		"svn_url": web + r.path(), "watchers": 3, "watchers_count": 3, "created_at": when(r.created),
		"updated_at": when(c.gh.clock), "visibility": visibility,
	})
}

// whole shows a repository by itself.
func (c *call) whole(r *Repo) object {
	return merge(c.within(r), object{"network_count": 0, "subscribers_count": 1, "topics": []any{}, "allow_forking": true})
}

func (c *call) app(slug string) object {
	id := c.gh.who(slug + "[bot]").id
	created := when(time.Unix(1_700_000_000, 0))
	return object{
		"id": id, "slug": slug, "node_id": node("Integration", id), "owner": c.user("github"), "name": slug,
		"description": nil, "external_url": "https://" + slug + ".example", "html_url": web + "apps/" + slug,
		"created_at": created, "updated_at": created, "permissions": object{"checks": "write", "metadata": "read"}, "events": []any{},
	}
}

func (c *call) commit(r *Repo, k *commit) object {
	at := c.base + "/repos/" + r.path()
	person := object{"name": "Ann", "email": "ann@example.com", "date": when(k.made)}
	return object{
		"url": at + "/commits/" + k.sha, "sha": k.sha, "node_id": node("Commit", int64(len(k.sha))), "html_url": web + r.path() + "/commit/" + k.sha,
		"comments_url": at + "/commits/" + k.sha + "/comments", "author": c.user("ann"), "committer": c.user("ann"), "parents": []any{},
		"commit": object{
			"url": at + "/git/commits/" + k.sha, "author": person, "committer": person, "message": k.message,
			"comment_count": 0, "tree": object{"sha": k.sha, "url": at + "/git/trees/" + k.sha},
		},
	}
}
