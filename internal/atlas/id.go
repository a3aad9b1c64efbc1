// Package atlas knows the directory tree that one ship serves: atlas.json, the identifiers of
// repositories and workspaces, how to find both from a working directory, and the folder of
// the ship's own files. It imports nothing of ours and never talks to ship or tmux.
package atlas

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxNameBytes = 128

// ID names a workspace: its repository's key and its own name. Both satisfy CheckName when the
// ID came out of this package. Comparable, so it serves as a map key.
type ID struct{ Repo, Name string }

// CheckName says why s cannot name a repository or a workspace. Legal are 1 to 128 bytes of
// UTF-8 without "/", "\" and control characters that start neither with "." nor with "-";
// blanks, dots and non-ASCII letters are legal.
func CheckName(s string) error {
	switch {
	case s == "":
		return errors.New("a name cannot be empty")
	case len(s) > maxNameBytes:
		return fmt.Errorf("a name has at most %d bytes; this one has %d", maxNameBytes, len(s))
	case !utf8.ValidString(s):
		return errors.New("a name must be valid UTF-8")
	case s[0] == '.' || s[0] == '-':
		return fmt.Errorf("the name %q starts with %q", s, s[:1])
	case strings.ContainsAny(s, `/\`):
		return fmt.Errorf("the name %q holds a slash or a backslash", s)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("the name %q holds a control character", s)
	}
	return nil
}

// NewID checks both halves.
func NewID(repo, name string) (ID, error) {
	if err := CheckName(repo); err != nil {
		return ID{}, fmt.Errorf("repository: %w", err)
	}
	if err := CheckName(name); err != nil {
		return ID{}, fmt.Errorf("workspace: %w", err)
	}
	return ID{repo, name}, nil
}

// ParseID reads REPO/NAME as people type it, unescaped.
func ParseID(s string) (ID, error) {
	repo, name, ok := strings.Cut(s, "/")
	if !ok {
		return ID{}, fmt.Errorf("%q is not REPO/NAME", s)
	}
	return NewID(repo, name)
}

// String is REPO/NAME, unescaped: for people and for logs that escape.
func (id ID) String() string { return id.Repo + "/" + id.Name }

// Shell is REPO/NAME as one word for a POSIX shell: for commands that people are told to type.
func (id ID) Shell() string { return Quote(id.String()) }

// Quote writes s as one word for a POSIX shell, in quotes only where it must be.
func Quote(s string) string {
	special := func(r rune) bool { return notInName(r) && !strings.ContainsRune("./-+:,@=%", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	if strings.ContainsFunc(s, unprintable) {
		return quoteBytes(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// unprintable is true for what would not reach a shell by way of a screen: what a program that
// prints leaves out, or a person cannot copy.
func unprintable(r rune) bool { return r == utf8.RuneError || r != ' ' && !unicode.IsGraphic(r) }

// quoteBytes writes s with dollar-single-quotes (POSIX.1-2024, XCU 2.2.4), in which every byte
// that is special or unprintable is an octal number: a shell that does not know them reads one
// word too.
func quoteBytes(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
			fmt.Fprintf(&out, `\%03o`, c)
		} else {
			out.WriteByte(c)
		}
	}
	return "$'" + out.String() + "'"
}

// Tag is repo and name, each percent-escaped: printable ASCII with one slash and without quotes,
// hashes and dollars, as stored in a tmux session's option @fleet_workspace. ParseTag reads it.
func (id ID) Tag() string { return escape(id.Repo) + "/" + escape(id.Name) }

// escape is url.PathEscape, and "$" too, which tmux would expand in double quotes.
func escape(s string) string { return strings.ReplaceAll(url.PathEscape(s), "$", "%24") }

// ParseTag reads what Tag wrote.
func ParseTag(s string) (ID, error) {
	repo, name, ok := strings.Cut(s, "/")
	if !ok {
		return ID{}, fmt.Errorf("%q is not a workspace's tag", s)
	}
	r, err := url.PathUnescape(repo)
	if err != nil {
		return ID{}, err
	}
	n, err := url.PathUnescape(name)
	if err != nil {
		return ID{}, err
	}
	return NewID(r, n)
}

// MCPPath is the escaped path of the workspace's MCP endpoint.
func (id ID) MCPPath() string { return "/workspaces/" + id.Tag() + "/mcp" }

// SessionName is the name of the workspace's tmux session: "ws-" and 64 hex digits, a hash of
// both names with their lengths, so that no two IDs share one and tmux finds nothing to expand.
func (id ID) SessionName() string {
	b := []byte{1}
	for _, s := range []string{id.Repo, id.Name} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return "ws-" + hex.EncodeToString(sum[:])
}

// Dir is the workspace's directory below an atlas's root.
func (id ID) Dir(root string) string { return filepath.Join(root, id.Repo, id.Name) }
