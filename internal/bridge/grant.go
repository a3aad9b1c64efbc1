package bridge

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"fleet/api"
)

const (
	// localShip is the name of the ship that an embedded bridge runs in.
	localShip = "local"

	shipPrefix = "fleet_ship_"
)

// Reasons of what the bridge refuses before it looks at anything else.
const (
	reasonShip   = "ship_credential"
	reasonVerb   = "verb_not_granted"
	reasonNoRepo = "no_repo"
	reasonEnding = "bridge_ending"
	reasonBusy   = "busy"
	reasonHeld   = "holds_credential"

	reasonReplaced = "repo_replaced"

	reasonNoCredential = "no_credential" // for the forge; its code is Unavailable wherever it is met
)

// verbs lists them in the order in which people read them.
func verbs() []string { return []string{api.VerbRead, api.VerbComment, api.VerbReview} }

// grant is what a ship may do. Only the hash of its credential is kept: hex SHA-256, or "" for the
// embedded ship, whose credential lives as long as the process.
type grant struct {
	Ship      string              `json:"ship"`
	Hash      string              `json:"hash,omitempty"`
	Repos     map[string][]string `json:"repos"`
	CreatedAt time.Time           `json:"created_at"`
}

// verbs gives what the ship may do to repo; none: the ship isn't to know that it is there.
func (g *grant) verbs(repo string) []string {
	return slices.Concat(g.Repos[repo], g.Repos[api.AllRepos])
}

func (g *grant) shown() api.Grant {
	repos := g.Repos
	if repos == nil {
		repos = map[string][]string{}
	}
	return api.Grant{Ship: g.Ship, Repos: repos, CreatedAt: g.CreatedAt, Embedded: g.Hash == ""}
}

// with is g with these verbs on repo in place of the ones before.
func (g grant) with(repo string, verbs []string) grant {
	repos := maps.Clone(g.Repos)
	if repos == nil {
		repos = map[string][]string{}
	}
	repos[repo] = verbs
	g.Repos = repos
	return g
}

// mintShipCredential makes a ship-agent credential.
func mintShipCredential() Secret {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails since Go 1.24
	return NewSecret(shipPrefix + base64.RawURLEncoding.EncodeToString(raw))
}

// shipHash reveals the credential to nothing but the hash under which it is known.
func shipHash(credential Secret) string {
	sum := sha256.Sum256([]byte(credential.Reveal()))
	return hex.EncodeToString(sum[:])
}

// grantTable answers who a credential belongs to, from memory. A change counts for the next look.
type grantTable struct {
	current atomic.Pointer[map[string]grant] // by hash
	local   string                           // hash of the embedded ship's credential, or ""
}

// load takes what the store has. Without a stored grant, the embedded ship may do everything.
func (t *grantTable) load(stored map[string]grant) {
	byHash := make(map[string]grant, len(stored)+1)
	for _, g := range stored {
		if g.Hash != "" {
			byHash[g.Hash] = g
		}
	}
	if t.local != "" {
		local, narrowed := stored[localShip]
		if !narrowed {
			local = grant{Ship: localShip, Repos: map[string][]string{api.AllRepos: verbs()}}
		}
		byHash[t.local] = local
	}
	t.current.Store(&byHash)
}

// find gives the ship of a credential. What the map finds is compared once more in constant time.
func (t *grantTable) find(credential Secret) (grant, error) {
	if !credential.IsZero() {
		hash := shipHash(credential)
		for known, g := range *t.current.Load() {
			if subtle.ConstantTimeCompare([]byte(known), []byte(hash)) == 1 {
				return g, nil
			}
		}
	}
	return grant{}, &api.Error{
		Code: api.Unauthenticated, Reason: reasonShip,
		Message: "the bridge does not know this ship's credential: it is missing, wrong or revoked",
		Hint:    "a person who runs the bridge must grant this ship access (ship bridge grant), and the ship's operator must put the credential that this prints into the ship's credential file",
	}
}

// allow says why g may not do verb to repo, or nil. A repository to which nothing was granted looks
// exactly like one that isn't there.
func (g *grant) allow(repo, verb string) error {
	has := g.verbs(repo)
	if len(has) == 0 {
		return noRepo(repo)
	}
	if slices.Contains(has, verb) {
		return nil
	}
	want := slices.DeleteFunc(verbs(), func(v string) bool { return v != verb && !slices.Contains(has, v) })
	return &api.Error{
		Code: api.Forbidden, Reason: reasonVerb,
		Message: fmt.Sprintf("this ship has no right to %s on repository %s", verb, quoted(repo)),
		Hint: fmt.Sprintf("ask a human to run: ship bridge grant %s --repo %s --verbs %s",
			shellWord(g.Ship), shellWord(repo), strings.Join(want, ",")),
	}
}

func noRepo(repo string) error {
	return &api.Error{
		Code: api.NotFound, Reason: reasonNoRepo,
		Message: fmt.Sprintf("the bridge has no repository %s for this ship", quoted(repo)),
		Hint:    "ask a human to look at what ship bridge list shows, to register the repository and to grant it to this ship",
	}
}

// quoted shows a name that a request brought.
func quoted(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return fmt.Sprintf("%q", name)
}

// shellWord spells s so that a shell takes it as one word.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/", r))
	}
	if s != "" && !strings.HasPrefix(s, "-") && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
