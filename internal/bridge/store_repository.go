package bridge

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// pin is which repository of the forge a registered one was when it was first read.
type pin struct {
	Number int64     `json:"number"` // the forge's
	URLs   []string  `json:"urls"`   // under which it was registered then
	SeenAt time.Time `json:"seen_at"`
}

func (s *store) pinOf(resource string) (pin, error) {
	var p pin
	err := s.db.View(func(tx *bolt.Tx) error {
		_, err := fetch(tx, bucketRepositories, resource, &p)
		return err
	})
	return p, err
}

func (s *store) setPin(resource string, p pin) error {
	return s.db.Update(func(tx *bolt.Tx) error { return keepIn(tx, bucketRepositories, resource, p) })
}

// unpin forgets the pins of what isn't registered any more, or no more by the URL that it was pinned
// with.
func (s *store) unpin(registered map[string][]string) error {
	var gone []string
	err := s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketRepositories)).ForEach(func(resource, raw []byte) error {
			var p pin
			if err := json.Unmarshal(raw, &p); err != nil {
				return err
			}
			now := registered[string(resource)]
			if !slices.ContainsFunc(p.URLs, func(u string) bool { return slices.Contains(now, u) }) {
				gone = append(gone, string(resource))
			}
			return nil
		})
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		var err error
		for _, resource := range gone {
			err = errors.Join(err, tx.Bucket([]byte(bucketRepositories)).Delete([]byte(resource)))
		}
		return err
	})
}

// registeredURLs gives the URLs of what is registered, by resource.
func registeredURLs(registry map[string]Registered) map[string][]string {
	urls := map[string][]string{}
	for name, r := range registry {
		if repo, err := r.repo(name); err == nil {
			key := pinKey(repo.APIURL, repo.Path)
			urls[key] = append(urls[key], r.URL)
		}
	}
	return urls
}

// pinKey names a repository among all forges.
func pinKey(at *url.URL, path string) string { return at.String() + " " + strings.ToLower(path) }

// forgePins are the pins of the repositories of one API.
type forgePins struct {
	store    *store
	registry func() map[string]Registered
	at       *url.URL
	log      *slog.Logger
}

func (p forgePins) of(path string) (int64, error) {
	pin, err := p.store.pinOf(pinKey(p.at, path))
	return pin.Number, err
}

// keep logs what the disk refuses: this process knows the number all the same.
func (p forgePins) keep(path string, id int64) {
	key := pinKey(p.at, path)
	one := pin{Number: id, URLs: registeredURLs(p.registry())[key], SeenAt: time.Now().UTC()}
	if err := p.store.setPin(key, one); err != nil {
		p.log.Error("which repository this is isn't stored", "repo", path, "cause", err.Error())
	}
}

// Reregister tells the Broker that the registry has changed: which repository of the forge one was
// that isn't registered any more, or now by another URL, is forgotten. Registered again, it is the
// one that is found then.
func (b *Broker) Reregister() {
	registered := registeredURLs(b.config.Registry())
	if err := b.desk.store.unpin(registered); err != nil {
		b.log.Error("forget repositories that are not registered any more", "cause", err.Error())
		return
	}
	b.forges.forget()
}
