package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"fleet/api"
)

const (
	callTime  = 45 * time.Second // of a whole call
	forgeTime = 30 * time.Second // of one question to a provider
	// closeTime is what writes have left once the bridge is told to end.
	closeTime = 8 * time.Second
)

// Credentials gives the credential for a forge's API: a CredentialStore, as a rule. Its answer must
// follow what the operator changes.
type Credentials interface {
	For(forge string, at *url.URL) (Credential, error)
}

// Config says what a Broker serves. Registry, Credentials, Dir and Logger are required.
type Config struct {
	// Registry gives the registered repositories by name, as they are now. It must be quick and
	// safe for concurrent use; its answer is not changed.
	Registry func() map[string]Registered
	// Providers makes a forge's provider, by forge. One is made for each API address.
	Providers   map[string]func(*Guard, *slog.Logger) Provider
	Credentials Credentials
	// Dir holds bridge.db and audit.jsonl. It is made, 0700, where it is missing.
	Dir string
	// Embedded lets the process's own ship in, see Broker.Local.
	Embedded bool
	Logger   *slog.Logger

	now func() moment // nil: bootClock
}

// Broker does, for ships that may, what their agents ask. It is safe for concurrent use.
type Broker struct {
	config Config
	log    *slog.Logger
	desk   *desk // grants and audit
	local  Secret
	sealer *sealer
	reads  *reads
	turns  turns
	forges forges

	life    context.Context // ends with Close
	end     context.CancelFunc
	looking context.CancelFunc // ends looking for writes of an earlier process
	mu      sync.Mutex
	closing bool
	work    sync.WaitGroup
}

// Open opens the database and the audit, and starts looking for what writes came to that an
// earlier process did not live to record. It fails with ErrInUse while another bridge has the directory.
// ctx is for opening alone; Close ends the Broker.
func Open(ctx context.Context, c Config) (*Broker, error) {
	if c.Registry == nil || c.Credentials == nil || c.Dir == "" || c.Logger == nil {
		return nil, errors.New("a bridge needs Registry, Credentials, Dir and Logger")
	}
	b := &Broker{config: c, log: c.Logger, forges: forges{config: c, known: &signedWith{}}}
	b.desk = &desk{embedded: c.Embedded, registry: c.Registry}
	if c.Embedded {
		b.local = mintShipCredential()
		b.desk.grants.local = shipHash(b.local)
	}
	if err := b.desk.open(c.Dir, lockPatience); err != nil {
		if errors.Is(err, ErrInUse) {
			return nil, fmt.Errorf("a bridge is running in %s already: %w", c.Dir, err)
		}
		return nil, err
	}
	b.forges.store = b.desk.store
	if c.now != nil {
		b.desk.store.now = c.now
	}
	if err := b.prepare(); err != nil {
		return nil, errors.Join(err, b.desk.close())
	}
	b.life, b.end = context.WithCancel(context.WithoutCancel(ctx))
	b.looking = func() {}
	b.reads = newReads(b)
	if err := b.reconcileLater(); err != nil {
		b.end()
		return nil, errors.Join(fmt.Errorf("writes of an earlier process: %w", err), b.desk.close())
	}
	return b, nil
}

// prepare makes ready what stands on the disk.
func (b *Broker) prepare() error {
	if err := b.desk.startAudit(); err != nil {
		return err
	}
	if broke := b.desk.audit.broke; broke != nil {
		b.log.Error("the audit is not what was written", "line", broke.Line)
	}
	if added := b.desk.audit.added; added != nil {
		b.log.Warn("the audit has lines that nothing vouches for", "line", added.Line, "lines", added.Added, "ended", added.Final)
	}
	breaks, err := b.desk.store.auditBreaks()
	if err != nil {
		return err
	}
	for _, broke := range breaks {
		if broke.Fresh {
			b.log.Error("nothing vouches for the audit: bridge.db was gone or empty", "at", broke.At, "next", "ship bridge audit verify, then ship bridge grant for every ship, local too")
		}
	}
	b.Reregister()
	key, err := b.desk.store.cursorKey()
	if err == nil {
		b.sealer, err = newSealer(key)
	}
	if err != nil {
		return fmt.Errorf("key of cursors: %w", err)
	}
	return nil
}

// Local is the ship-agent credential of the process that the bridge is embedded in: minted by Open,
// in memory only. It opens every repository with every verb, unless a stored grant for the ship
// "local" narrows it. The zero Secret where the bridge isn't embedded.
func (b *Broker) Local() Secret { return b.local }

// As is the ship's way in without HTTP. The same checks run as over HTTP.
func (b *Broker) As(ship Secret) Caller { return inProcess{b, ship} }

type inProcess struct {
	broker *Broker
	ship   Secret
}

func (p inProcess) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	id, err := newID()
	if err != nil {
		return nil, internal(err)
	}
	return p.broker.do(ctx, p.ship, r, id)
}

// Close lets writes that are under way come to their end, for some seconds, and closes the
// database. What is cut off is looked for by the next Open.
func (b *Broker) Close() error {
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return nil
	}
	b.closing = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	b.reads.stop()
	b.looking() // the next process looks
	select {
	case <-done:
	case <-timer.C:
	}
	b.end()
	<-done
	b.forges.close()
	return b.desk.close()
}

// begin counts one more piece of work that Close waits for. false: the Broker is closing.
func (b *Broker) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closing {
		b.work.Add(1)
	}
	return !b.closing
}

// internal is a fault of our own: its cause is for the log.
func internal(err error) *api.Error {
	return &api.Error{
		Code: api.Internal, Message: "the bridge met a fault of its own; its log has the cause",
		Hint: "tell a human; try again later", Err: err,
	}
}
