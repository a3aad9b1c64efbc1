package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fleet/api"
)

// Admin is what an operator does to a bridge: to a running one through its socket, or to the
// files of one that isn't running. Errors are *api.Error, or say what is wrong with the files.
type Admin interface {
	// Grant sets the verbs that a ship has on a repository (api.AllRepos for every one), in place
	// of those it had there. A ship that is new gets a credential, which is never shown again.
	Grant(ctx context.Context, r api.GrantRequest) (*api.Granted, error)
	// Revoke ends everything that a ship may do, and its credential, at once.
	Revoke(ctx context.Context, ship string) error
	List(ctx context.Context) (*api.Grants, error)
	// VerifyAudit reads the whole audit and says where it isn't what was written.
	VerifyAudit(ctx context.Context) (*api.AuditReport, error)
	Close() error
}

// ErrNeverUsed says that no bridge was ever served from a directory, and nothing granted in it.
var ErrNeverUsed = errors.New("no bridge was ever served from there, and nothing granted")

// AdminConfig says whose operator one is.
type AdminConfig struct {
	Dir      string // the bridge's, see Config.Dir
	Socket   string // what a running bridge listens on for operators
	Embedded bool   // the bridge in Dir belongs to a ship serve: its ship "local" has no credential of its own
	// Existing keeps OpenAdmin from making files: it fails with ErrNeverUsed where there are none.
	Existing bool
}

// OpenAdmin takes the files in Dir where no bridge has them, and speaks to the one that has
// otherwise. While it is open, no bridge can start there: Close it soon.
func OpenAdmin(ctx context.Context, c AdminConfig) (Admin, error) {
	if c.Existing && neverUsed(c.Dir) {
		return nil, fmt.Errorf("%s: %w", c.Dir, ErrNeverUsed)
	}
	d := &desk{embedded: c.Embedded}
	err := d.open(c.Dir, 100*time.Millisecond)
	if errors.Is(err, ErrInUse) {
		return dialAdmin(ctx, c.Socket)
	}
	if err != nil {
		return nil, err
	}
	return direct{d}, nil
}

// neverUsed counts an audit without a database as used: somebody has taken the database away.
func neverUsed(dir string) bool {
	for _, name := range []string{storeFile, auditFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// desk is where grants are made, with the audit that says so.
type desk struct {
	dir      string
	embedded bool
	registry func() map[string]Registered // nil: unknown
	store    *store
	audit    *auditLog // nil until it is written to: a look at it must change nothing
	grants   grantTable
	mu       sync.Mutex // one change at a time
}

func (d *desk) open(dir string, patience time.Duration) error {
	var err error
	if d.store, err = openStore(dir, patience); err != nil {
		return err
	}
	d.dir = dir
	bereft, err := d.bereft()
	if bereft {
		err = d.bereave()
	}
	if err != nil {
		return errors.Join(err, d.close())
	}
	stored, err := d.store.grants()
	if err != nil {
		return errors.Join(fmt.Errorf("read grants: %w", err), d.close())
	}
	d.grants.load(stored)
	return nil
}

// startAudit makes the audit ready to be written to.
func (d *desk) startAudit() error {
	if d.audit != nil {
		return nil
	}
	head, err := d.store.auditHead()
	if err != nil {
		return err
	}
	audit, err := openAudit(d.dir, head)
	if err != nil {
		return err
	}
	var breaks []auditBreak
	for _, b := range []*auditBreak{audit.broke, audit.added} {
		if b != nil {
			breaks = append(breaks, *b)
		}
	}
	if err := d.store.vouch(audit.at(), breaks...); err != nil {
		return errors.Join(err, audit.close())
	}
	d.audit = audit
	return nil
}

func (d *desk) close() error {
	var err error
	if d.audit != nil {
		err = d.audit.close()
		head := d.audit.at()
		head.Final = true
		err = errors.Join(err, d.store.vouch(head))
	}
	return errors.Join(err, d.store.close())
}

// direct is an Admin of files that no bridge has open.
type direct struct{ *desk }

func (d direct) Grant(_ context.Context, r api.GrantRequest) (*api.Granted, error) { return d.grant(r) }

func (d direct) Revoke(_ context.Context, ship string) error { return d.revoke(ship) }

func (d direct) List(context.Context) (*api.Grants, error) { return d.list() }

func (d direct) VerifyAudit(context.Context) (*api.AuditReport, error) { return d.verify() }

func (d direct) Close() error { return d.close() }

func (d *desk) list() (*api.Grants, error) {
	stored, err := d.store.grants()
	if err != nil {
		return nil, internal(err)
	}
	all := &api.Grants{Grants: []api.Grant{}}
	if _, narrowed := stored[localShip]; d.embedded && !narrowed {
		everything := grant{Ship: localShip, Repos: map[string][]string{api.AllRepos: verbs()}}
		all.Grants = append(all.Grants, everything.shown())
	}
	for _, g := range stored {
		if g.Hash != "" || d.embedded {
			all.Grants = append(all.Grants, g.shown())
		}
	}
	slices.SortFunc(all.Grants, func(a, b api.Grant) int { return strings.Compare(a.Ship, b.Ship) })
	return all, nil
}

func (d *desk) verify() (*api.AuditReport, error) {
	// The head is read first: lines that come meanwhile only make the file longer.
	head, err := d.store.auditHead()
	if err != nil {
		return nil, internal(err)
	}
	breaks, err := d.store.auditBreaks()
	if err != nil {
		return nil, internal(err)
	}
	report, err := verifyAuditFile(d.dir, head)
	if errors.Is(err, fs.ErrNotExist) {
		report, err = verifyAudit(strings.NewReader(""), head)
	}
	d.more(&report, head)
	for _, b := range breaks {
		line := max(int(b.Line), 1)
		if b.Added > 0 && !b.Final {
			report.Notes = append(report.Notes, fmt.Sprintf("line %d %s", line, b.what()))
			continue
		}
		report.Faults = append(report.Faults, api.AuditFault{Line: line, What: b.what()})
	}
	return &report, err
}

func auditUnwritable(err error) *api.Error {
	return &api.Error{
		Code: api.Unavailable, Reason: "audit_unwritable",
		Message: "the bridge cannot write its audit, and does nothing that would not stand in it; nothing was done",
		Hint:    "ask a human to look at the disk of the bridge", Err: err,
	}
}
