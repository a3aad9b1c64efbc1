package bridge

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"fleet/api"
)

const maxHops = 3

// next says where a redirect leads that is to be followed; nil: the answer stands as it is. Only
// the way to the same repository, by the number that a rename and a transfer leave it, is followed.
func (c *guardedCall) next(resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if c.write {
		if err := c.mayRepeat(resp.StatusCode); err != nil {
			return nil, err
		}
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, refusedRedirect("nowhere")
	}
	to, err := c.url.Parse(location)
	if err != nil || to.User != nil || to.Host == "" {
		return nil, refusedRedirect("an address that is none")
	}
	to.Fragment = ""
	ok, err := c.sameRepository(to)
	if ok && c.hops < maxHops {
		return to, nil
	}
	if !c.write && wantsLogRedirect(c.origin.Context()) && !c.guard.ownAddress(to) {
		resp.Header.Set("Location", to.String())
		return nil, nil
	}
	if err == nil {
		err = refusedRedirect("ever other addresses")
	}
	return nil, err
}

// mayRepeat says whether a write may follow: 307 and 308 ask for the same request at another
// address, so that nothing was done at this one (RFC 9110 §15.4.8). The older statuses would have
// a client turn it into a GET.
func (c *guardedCall) mayRepeat(status int) error {
	switch status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if c.hops == 0 {
			return nil
		}
		return refusedRedirect("ever other addresses")
	case http.StatusMovedPermanently:
		return &api.Error{
			Code: api.Conflict, Reason: "repo_moved",
			Message: "the forge says that the repository has moved; nothing was written",
			Hint:    "ask the operator to register the repository's new address",
		}
	default:
		// 303 is what some answer after they did it, and 302 was used so before.
		c.mark.maybe.Store(true)
		return &api.Error{
			Code: api.OutcomeUnknown, Reason: "redirected",
			Message: "the forge answered the request with a redirect: it may have been done",
			Hint:    "look at the issue or pull request before you try again",
		}
	}
}

// sameRepository says that to is the repository that the call is about, at the API's own host. The
// error says why not.
func (c *guardedCall) sameRepository(to *url.URL) (bool, error) {
	if !sameOrigin(to, c.guard.api) {
		return false, refusedRedirect("another host")
	}
	from, okFrom := c.guard.resource(c.url)
	there, okTo := c.guard.resource(to)
	if !okFrom || !okTo || there.id == 0 {
		return false, refusedRedirect("something that is not the repository")
	}
	if from.id == 0 {
		from.id = c.guard.ids.of(from.path)
	}
	if from.id == 0 && (c.write || from.rest != "" || there.rest != "") {
		return false, &api.Error{
			Code: api.Conflict, Reason: "repo_moved",
			Message: "the forge says that the repository has moved, and the bridge does not know its number yet; nothing was done",
			Hint:    "read the repository itself first (repo_info), then try again",
		}
	}
	if from.id != 0 && from.id != there.id {
		return false, refusedRedirect("another repository")
	}
	if c.write && from.rest != there.rest {
		return false, refusedRedirect("something else in the repository")
	}
	return true, nil
}

// resource is what an API address is about: {base}/repos/{owner}/{name}{rest} or
// {base}/repositories/{id}{rest}.
type resource struct {
	path string
	id   int64
	rest string
}

func (g *Guard) resource(u *url.URL) (resource, bool) {
	full := u.EscapedPath()
	below, ok := strings.CutPrefix(full, strings.TrimSuffix(g.api.EscapedPath(), "/")+"/")
	if !ok || crooked(below) {
		return resource{}, false
	}
	parts := strings.SplitN(below, "/", 4)
	if parts[0] == "repositories" && len(parts) > 1 {
		id, err := strconv.ParseInt(parts[1], 10, 64)
		_, rest, _ := strings.Cut(strings.TrimPrefix(below, "repositories/"), "/")
		return resource{id: id, rest: rest}, err == nil && id > 0 && strconv.FormatInt(id, 10) == parts[1]
	}
	if parts[0] != "repos" || len(parts) < 3 {
		return resource{}, false
	}
	r := resource{path: parts[1] + "/" + parts[2]}
	if len(parts) == 4 {
		r.rest = parts[3]
	}
	return r, true
}

// ownAddress says that u belongs to the API itself, where no log is.
func (g *Guard) ownAddress(u *url.URL) bool {
	return sameOrigin(u, g.api) && strings.HasPrefix(u.EscapedPath()+"/", strings.TrimSuffix(g.api.EscapedPath(), "/")+"/")
}

// crooked says that servers may read a path in more than one way: that it climbs, escaped or not,
// or has empty parts.
func crooked(path string) bool {
	plain, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil || strings.ContainsAny(plain, "\\\x00") {
		return true
	}
	if plain == "" {
		return false
	}
	for part := range strings.SplitSeq(plain, "/") {
		if part == "" || part == "." || part == ".." {
			return true
		}
	}
	return false
}

func refusedRedirect(to string) *api.Error {
	return &api.Error{
		Code: api.Forbidden, Reason: "redirect_refused",
		Message: "the forge redirects to " + to + ", where the bridge does not follow; nothing was done",
		Hint:    "ask the operator to check the repository's address",
	}
}
