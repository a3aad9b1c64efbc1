package bridge

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"fleet/api"
)

const (
	// intentLife is how long a write's key is answered from memory.
	intentLife = 24 * time.Hour
	// pruneAtOnce bounds the work that one write does for those before it.
	pruneAtOnce = 64
	maxAliases  = 256
	idLength    = 36 // of a UUID's text
)

// States of an intent.
const (
	intentStarted = "started" // the forge may have been asked
	intentDone    = "done"
	intentFailed  = "failed"  // for certain
	intentUnknown = "unknown" // asked, and looked for in vain
)

// intent is a write from before it is sent. Its text is kept for as long as it may be looked for.
type intent struct {
	ID         string        `json:"id"` // UUIDv7
	Ship       string        `json:"ship"`
	Repo       string        `json:"repo"`
	Path       string        `json:"path"` // of the repository on the forge
	Workspace  string        `json:"workspace"`
	Op         string        `json:"op"`
	KeyHash    string        `json:"key_hash"`
	Payload    string        `json:"-"`                 // hash of what the key stands for
	Aliases    []string      `json:"aliases,omitempty"` // further keys that were answered with this
	Content    string        `json:"content_hash"`      // hash of what makes two writes the same
	Write      Write         `json:"write"`
	BodySHA256 string        `json:"body_sha256"`
	Credential string        `json:"credential"`
	Signer     string        `json:"signer,omitempty"` // who sent it, see Guard.Signer; "": not known
	RequestID  string        `json:"request_id"`
	StartedAt  time.Time     `json:"started_at"`            // by our clock
	Began      moment        `json:"began,omitzero"`        // by a clock that nobody sets, see age
	NoticedAt  time.Time     `json:"noticed_at,omitzero"`   // when StartedAt was seen to lie in the future, see age
	Behind     time.Duration `json:"behind,omitempty"`      // the forge's clock when it was sent
	ClockKnown bool          `json:"clock_known,omitempty"` // Behind was measured by the process that sent it
	Line       int64         `json:"line,omitempty"`        // of the audit, about to be sent; of two, the later has the greater one
	State      string        `json:"state"`
	Written    *api.Written  `json:"written,omitempty"`
	Error      *api.Error    `json:"error,omitempty"`
}

func (i *intent) undecided() bool { return i.State == intentStarted || i.State == intentUnknown }

// begin stores a new intent, with its key and its content leading to it.
func (s *store) begin(i *intent, head auditHead) error {
	i.Line = head.Seq
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := s.prune(tx); err != nil {
			return err
		}
		if err := tx.Bucket([]byte(bucketKeys)).Put([]byte(i.KeyHash), []byte(i.ID+i.Payload)); err != nil {
			return err
		}
		if err := tx.Bucket([]byte(bucketContents)).Put([]byte(i.Content), []byte(i.ID)); err != nil {
			return err
		}
		if err := keepHead(tx, head); err != nil {
			return err
		}
		return keepIn(tx, bucketIntents, i.ID, i)
	})
}

// decide stores what became of i, and forgets its text unless it may still be looked for.
func (s *store) decide(i *intent, head auditHead) error {
	kept := *i
	if !i.undecided() {
		kept.Write.Body = ""
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := keepHead(tx, head); err != nil {
			return err
		}
		if err := keepAddress(tx, i); err != nil {
			return err
		}
		return keepIn(tx, bucketIntents, i.ID, &kept)
	})
}

// alias lets the key of a later call, which stands for its payload, be answered with what became of
// an earlier intent.
func (s *store) alias(key *intent, id string) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		var earlier intent
		if ok, err := fetch(tx, bucketIntents, id, &earlier); err != nil || !ok || len(earlier.Aliases) >= maxAliases {
			return err // without it, the same words are still a duplicate
		}
		earlier.Aliases = append(earlier.Aliases, key.KeyHash)
		if err := tx.Bucket([]byte(bucketKeys)).Put([]byte(key.KeyHash), []byte(id+key.Payload)); err != nil {
			return err
		}
		return keepIn(tx, bucketIntents, id, &earlier)
	})
}

// intentBy follows a bucket of hashes to an intent. nil: there is none. Of a key, it gives what the
// key stands for as the intent's Payload.
func (s *store) intentBy(bucket, hash string) (*intent, error) {
	var found *intent
	err := s.db.View(func(tx *bolt.Tx) error {
		value := string(tx.Bucket([]byte(bucket)).Get([]byte(hash)))
		if len(value) < idLength {
			return nil
		}
		var i intent
		ok, err := fetch(tx, bucketIntents, value[:idLength], &i)
		if ok {
			i.Payload = value[idLength:]
			found = &i
		}
		return err
	})
	return found, err
}

// undecided lists, oldest first, the intents of which nobody knows what became of them.
func (s *store) undecided() ([]*intent, error) {
	var list []*intent
	err := s.db.View(func(tx *bolt.Tx) error {
		return eachIntent(tx, func(i *intent) error {
			if i.undecided() {
				list = append(list, i)
			}
			return nil
		})
	})
	return list, err
}

func eachIntent(tx *bolt.Tx, visit func(*intent) error) error {
	return tx.Bucket([]byte(bucketIntents)).ForEach(func(_, raw []byte) error {
		var i intent
		if err := json.Unmarshal(raw, &i); err != nil {
			return err
		}
		return visit(&i)
	})
}

// prune forgets the oldest intents once their time is over, whatever became of them.
func (s *store) prune(tx *bolt.Tx) error {
	intents := tx.Bucket([]byte(bucketIntents))
	var old []*intent
	cursor := intents.Cursor()
	for _, raw := cursor.First(); raw != nil && len(old) < pruneAtOnce; _, raw = cursor.Next() {
		var i intent
		if err := json.Unmarshal(raw, &i); err != nil {
			return err
		}
		if s.age(&i) < intentLife {
			break
		}
		old = append(old, &i)
	}
	for _, i := range old {
		if err := intents.Delete([]byte(i.ID)); err != nil {
			return err
		}
		for _, key := range append(i.Aliases, i.KeyHash) {
			if err := unlink(tx, bucketKeys, key, i.ID); err != nil {
				return err
			}
		}
		if err := unlink(tx, bucketContents, i.Content, i.ID); err != nil {
			return err
		}
		if i.Written != nil {
			if err := unlink(tx, bucketAddresses, hashOf(i.Written.URL), i.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlink deletes hash where it still leads to id.
func unlink(tx *bolt.Tx, bucket, hash, id string) error {
	b := tx.Bucket([]byte(bucket))
	if !strings.HasPrefix(string(b.Get([]byte(hash))), id) {
		return nil
	}
	return b.Delete([]byte(hash))
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}
