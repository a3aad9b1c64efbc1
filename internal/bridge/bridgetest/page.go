package bridgetest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// paged is a page of a list, and the addresses around it.
type paged[T any] struct {
	items []T
	link  string
	fault *reply
}

// pageOf cuts the page out of all that is asked for: 30 items, or per_page, at most 100.
// See https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api.
func pageOf[T any](c *call, all []T) paged[T] {
	size, page := c.number("per_page", 30), c.number("page", 1)
	size, page = min(max(size, 1), 100), max(page, 1)
	at := (page - 1) * size
	cursor := c.query.Get("after")
	if cursor != "" {
		raw, _ := base64.RawURLEncoding.DecodeString(cursor)
		n, err := strconv.Atoi(strings.TrimPrefix(string(raw), "cursor:v2:"))
		if err != nil {
			r := invalid("invalid cursor")
			return paged[T]{fault: &r}
		}
		at, page = n, n/size+1
	}
	large := strings.HasSuffix(c.route.path, "/issues") && len(all) >= c.gh.large
	if large && cursor == "" && page >= c.gh.large/100 {
		r := refuse(http.StatusUnprocessableEntity,
			"Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)")
		return paged[T]{fault: &r}
	}
	at = min(at, len(all))
	end := min(at+size, len(all))
	l := linker{c: c, size: size, cursors: strings.HasSuffix(c.route.path, "/issues")}
	if at > 0 {
		l.add("prev", page-1)
	}
	if end < len(all) {
		l.add("next", page+1)
	}
	if last := (len(all) + size - 1) / size; last > page && !large {
		l.add("last", last)
	}
	if at > 0 {
		l.add("first", 1)
	}
	return paged[T]{items: all[at:end], link: strings.Join(l.parts, ", ")}
}

// linker writes a Link header (RFC 8288). GitHub's addresses in it name the repository by number.
type linker struct {
	c       *call
	size    int
	cursors bool // the list gives cursors beside page numbers
	parts   []string
}

func (l *linker) add(rel string, page int) {
	query := url.Values{}
	for name, values := range l.c.query {
		query[name] = values
	}
	query.Set("page", strconv.Itoa(page))
	query.Del("after")
	if l.cursors && rel == "next" {
		query.Set("after", base64.RawURLEncoding.EncodeToString([]byte("cursor:v2:"+strconv.Itoa((page-1)*l.size))))
	}
	path := l.c.path
	if l.c.repo != nil {
		named := strings.SplitN(l.c.named(), "/", 5)
		path = "/repositories/" + number(l.c.repo.id) + "/" + named[4]
	}
	l.parts = append(l.parts, "<"+l.c.base+path+"?"+query.Encode()+`>; rel="`+rel+`"`)
}

// number reads a number of the query.
func (c *call) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(c.query.Get(name)); err == nil {
		return n
	}
	return otherwise
}

// list answers with a page of all, each item shown.
func list[T any](c *call, all []T, show func(T) object) reply {
	return listIn(c, all, show, func(items []any) any { return items })
}

// listIn is list within something else.
func listIn[T any](c *call, all []T, show func(T) object, within func([]any) any) reply {
	p := pageOf(c, all)
	if p.fault != nil {
		return *p.fault
	}
	items := []any{}
	for _, one := range p.items {
		items = append(items, show(one))
	}
	r := ok(within(items))
	if p.link != "" {
		r = r.with("Link", p.link)
	}
	return r
}
