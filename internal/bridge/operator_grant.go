package bridge

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fleet/api"
)

func (d *desk) grant(r api.GrantRequest) (*api.Granted, error) {
	set, err := checkGrant(r)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	stored, err := d.store.grants()
	if err != nil {
		return nil, internal(err)
	}
	g, known := stored[r.Ship]
	if !known {
		g = grant{Ship: r.Ship, CreatedAt: time.Now().UTC()}
	}
	var credential Secret
	if g.Hash == "" && !(d.embedded && r.Ship == localShip) {
		credential = mintShipCredential()
		g.Hash = shipHash(credential)
	}
	g = g.with(r.Repo, set)
	if err := d.keep(auditLine{Event: auditGrant, Ship: r.Ship, Repo: r.Repo, Verbs: set}, r.Ship, &g, stored); err != nil {
		return nil, err
	}
	// Revealed to the operator, once: the bridge keeps its hash alone.
	return &api.Granted{Grant: g.shown(), Credential: credential.Reveal(), Note: d.remark(r)}, nil
}

// keep writes the audit, then the store, then counts.
func (d *desk) keep(line auditLine, ship string, g *grant, stored map[string]grant) error {
	if err := d.startAudit(); err != nil {
		return auditUnwritable(err)
	}
	head, err := d.audit.append(line)
	if err != nil {
		return auditUnwritable(err)
	}
	if err := d.store.setGrant(ship, g, head); err != nil {
		return internal(err)
	}
	if g == nil {
		delete(stored, ship)
	} else {
		stored[ship] = *g
	}
	d.grants.load(stored)
	return nil
}

func (d *desk) remark(r api.GrantRequest) string {
	if d.registry == nil || r.Repo == api.AllRepos {
		return ""
	}
	if _, ok := d.registry()[r.Repo]; !ok {
		return "no repository is registered as " + quoted(r.Repo) + " at the moment"
	}
	return ""
}

func (d *desk) revoke(ship string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	stored, err := d.store.grants()
	if err != nil {
		return internal(err)
	}
	local := d.embedded && ship == localShip
	g, known := stored[ship]
	if !known && !local {
		return &api.Error{
			Code: api.NotFound, Reason: "no_ship", Message: "the bridge knows no ship " + quoted(ship),
			Hint: "ship bridge list shows those it knows",
		}
	}
	var left *grant
	if local {
		// Without a stored grant the embedded ship could do everything again.
		g.Ship, g.Repos = ship, map[string][]string{}
		if g.CreatedAt.IsZero() {
			g.CreatedAt = time.Now().UTC()
		}
		left = &g
	}
	return d.keep(auditLine{Event: auditRevoke, Ship: ship}, ship, left, stored)
}

// checkGrant gives the verbs in their order.
func checkGrant(r api.GrantRequest) ([]string, error) {
	if err := checkName("ship", r.Ship); err != nil {
		return nil, err
	}
	if err := checkName("repo", r.Repo); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(r.Ship, unicode.IsSpace) {
		return nil, invalid("ship", "ship must be a name without blanks", "")
	}
	for _, v := range r.Verbs {
		if !slices.Contains(verbs(), v) {
			return nil, invalid("verbs", quoted(v)+" is not a verb", "verbs are "+strings.Join(verbs(), ", "))
		}
	}
	if len(r.Verbs) == 0 {
		return nil, invalid("verbs", "a grant needs at least one verb", "verbs are "+strings.Join(verbs(), ", "))
	}
	return slices.DeleteFunc(verbs(), func(v string) bool { return !slices.Contains(r.Verbs, v) }), nil
}

func checkName(what, s string) error {
	if s == "" || len(s) > maxName || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return invalid(what, what+" must be a name of at most 256 bytes, without control characters", "")
	}
	return nil
}
