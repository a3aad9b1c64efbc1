package atlas

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckURL says why s cannot be cloned from: it is empty, looks like an option, names a remote
// helper that runs a command, or holds a credential. The error never repeats a part of s.
func CheckURL(s string) error {
	switch {
	case s == "":
		return errors.New("url is empty")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("url holds a control character or is not valid UTF-8")
	case strings.TrimSpace(s) != s:
		return errors.New("url starts or ends with a blank")
	case strings.HasPrefix(s, "-"):
		return errors.New("url starts with a dash")
	case namesHelper(s):
		return errors.New("url names a git remote helper (NAME::…), which could run a command")
	}
	if !strings.Contains(s, "://") {
		return checkPathOrHost(s)
	}
	// A proxy may carry a second address in its path.
	for rest := s; ; {
		before, after, ok := strings.Cut(rest, "://")
		if !ok {
			return nil
		}
		scheme := before[strings.LastIndexAny(before, "/?#=&")+1:]
		if err := checkAuthority(strings.ToLower(scheme), after); err != nil {
			return err
		}
		rest = after
	}
}

// namesHelper says whether git would run "git remote-NAME" with the rest of s as its argument.
// See https://git-scm.com/docs/gitremote-helpers#_invocation.
func namesHelper(s string) bool {
	name, _, ok := strings.Cut(s, "::")
	if ok && !strings.ContainsFunc(name, func(r rune) bool {
		return notInName(r) && r != '+' && r != '-' && r != '.'
	}) {
		return true
	}
	// The two helpers of git itself that take a command or a file descriptor.
	scheme, _, ok := strings.Cut(strings.ToLower(s), "://")
	return ok && (scheme == "ext" || scheme == "fd")
}

var errCredential = errors.New("url holds a user name or password; remove it and let git's credential helper or ssh supply it")

// checkPathOrHost is for a path and for what scp would take, USER@HOST:PATH.
func checkPathOrHost(s string) error {
	host, _, _ := strings.Cut(s, "/")
	user, _, ok := cutLast(host, "@")
	if ok && strings.Contains(user, ":") {
		return errCredential
	}
	return nil
}

func checkAuthority(scheme, rest string) error {
	ssh := scheme == "ssh" || scheme == "git+ssh" || scheme == "ssh+git"
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	user, host, hasUser := cutLast(authority, "@")
	// Outside ssh, a bare user name is, on every forge, a token.
	if hasUser && (!ssh || strings.Contains(user, ":") || strings.Contains(strings.ToLower(user), "%3a")) {
		return errCredential
	}
	if strings.HasPrefix(host, "-") {
		return errors.New("url has a host that starts with a dash")
	}
	if !strings.HasPrefix(scheme, "http") {
		return nil
	}
	if strings.ContainsAny(rest, "?#") {
		return errors.New("url has a query or a fragment, where credentials travel; remove it")
	}
	// A password with a slash in it ends what looks like the host, at a port that is none.
	if _, port, ok := cutLast(host[strings.LastIndex(host, "]")+1:], ":"); ok && strings.Trim(port, "0123456789") != "" {
		return errors.New("url has a port that is not a number")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

var errAPIURL = errors.New("api_url is not an http(s) address without user name, query and fragment")

func checkAPIURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || strings.ContainsAny(s, "@?#") {
		return errAPIURL
	}
	return nil
}

func checkBranch(s string) error {
	if strings.HasPrefix(s, "-") || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return errors.New("default_branch starts with a dash or holds a blank")
	}
	return nil
}
