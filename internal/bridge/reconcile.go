package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleet/api"
)

const (
	// lookPause lets a forge's replicas catch up before a second look.
	lookPause = 3 * time.Second
	// signerTime bounds what a credential's file may take to be read.
	signerTime = 5 * time.Second
	// reconcileTime bounds what a start spends on the writes of an earlier process.
	reconcileTime = 5 * time.Minute
	// clockSkew is by how much a forge's clock may be further behind ours than it says.
	clockSkew = time.Minute
)

// look asks the forge, up to so many times, whether i is there, and stores what it finds. It never
// writes to the forge. absent: the forge was asked, and the account that sent i has nothing like it.
func (b *Broker) look(ctx context.Context, f *forge, r Repo, i *intent, times int) (absent bool) {
	found, absent := b.find(ctx, f, r, i, times)
	switch {
	case found != nil:
		i.State, i.Written, i.Error = intentDone, found, nil
		head, err := b.desk.audit.append(i.foundLine())
		b.keep(i, head, err)
	case i.State != intentUnknown:
		i.State = intentUnknown
		b.record(i)
	}
	return absent
}

// find gives what i left on the forge, or nil.
func (b *Broker) find(ctx context.Context, f *forge, r Repo, i *intent, times int) (found *api.Written, absent bool) {
	for n := range times {
		if n > 0 && !pause(ctx, lookPause) {
			return nil, false
		}
		found, err := b.findOnce(ctx, f, r, i)
		absent = err == nil && found == nil && i.ClockKnown && f.signsAs(ctx, i.Signer)
		if err != nil {
			b.log.Warn("a write can't be looked for", "request", i.RequestID, "cause", MaskCredentials(fmt.Sprint(asError(err))))
		} else if found != nil {
			// Another workspace may have posted the same words by the same account. Where both writes
			// are unclear, nobody can tell whose post it is: no forge takes a mark of ours, times
			// are in seconds by its clock, and a hidden mark would change the text. Then it is taken for
			// the one that was sent first, and the other stays unclear, since what belongs to one is not
			// absent for the other: nothing is posted twice, nobody is told of a post that isn't his, and
			// the link leads to these very words.
			if mine, err := b.mine(i, found); err == nil && mine {
				return found, false
			}
		}
	}
	return nil, absent
}

// mine says that what was found is no other write's, as far as can be known.
func (b *Broker) mine(i *intent, found *api.Written) (bool, error) {
	claimed, err := b.desk.store.claimed(i, found.URL)
	if err != nil || claimed {
		return false, err
	}
	older, err := b.desk.store.older(i)
	return !older, err
}

// findOnce asks the forge for what it has from when i began, by the forge's clock. Where its answer
// shows that its clock is further behind than was known, it is asked for older ones too.
func (b *Broker) findOnce(ctx context.Context, f *forge, r Repo, i *intent) (*api.Written, error) {
	ctx, cancel := context.WithTimeout(withReserve(ctx), forgeTime)
	defer cancel()
	behind := max(i.Behind, f.guard.behind())
	for range 3 {
		found, err := guarded(b, i.Op, func() (*api.Written, error) {
			return f.provider.Find(ctx, r, i.Write, i.StartedAt.Add(-behind-clockSkew))
		})
		if found != nil {
			found, err = posted(found)
		}
		now := f.guard.behind()
		if err != nil || found != nil || now <= behind+clockSkew/2 {
			return found, err
		}
		behind = now
	}
	return nil, errors.New("the forge's clock cannot be relied on")
}

// signsAs says that the forge is still asked by the account that was to sign as signer. What
// another account does not find may be there all the same.
func (f *forge) signsAs(ctx context.Context, signer string) bool {
	ctx, cancel := context.WithTimeout(ctx, signerTime)
	defer cancel()
	now, err := f.guard.Signer(ctx)
	return err == nil && signer != "" && now == signer
}

// pause waits, and says whether it could.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reconcileLater looks, in the background and one after the other, for what writes came to that an
// earlier process began and did not live to record.
func (b *Broker) reconcileLater() error {
	open, err := b.desk.store.undecided()
	if err != nil || len(open) == 0 || !b.begin() {
		return err
	}
	ctx, cancel := context.WithTimeout(b.life, reconcileTime)
	b.looking = cancel
	go func() {
		defer b.work.Done()
		defer cancel()
		for _, i := range open {
			if b.desk.store.age(i) > intentLife || ctx.Err() != nil {
				continue
			}
			if err := b.reconcile(ctx, i); err != nil {
				b.log.Warn("a write of an earlier process can't be looked for", "request", i.RequestID, "cause", MaskCredentials(err.Error()))
			}
		}
	}()
	return nil
}

func (b *Broker) reconcile(ctx context.Context, i *intent) error {
	registered, ok := b.config.Registry()[i.Repo]
	if !ok {
		return noRepo(i.Repo)
	}
	repo, err := registered.repo(i.Repo)
	if err != nil {
		return err
	}
	f, err := b.forges.at(registered.Forge, repo.APIURL)
	if err != nil {
		return err
	}
	if (&order{repo: repo}).resource() != i.Path {
		return badRegistration("it is another repository than the one that was written to")
	}
	leave, err := b.takeContent(ctx, i)
	if err != nil {
		return err
	}
	defer leave()
	// A call with the same words may have been quicker.
	now, err := b.desk.store.intentBy(bucketContents, i.Content)
	if err != nil || now == nil || now.ID != i.ID || !now.undecided() {
		return err
	}
	b.look(ctx, f, repo, now, 2)
	return nil
}
