package bridge

import (
	"strings"
	"sync"

	"fleet/api"
)

// repositoryPins keeps the forge's numbers of repositories, by path in small letters, for longer than
// the process lives.
type repositoryPins interface {
	of(path string) (int64, error) // 0: none is kept
	keep(path string, id int64)
}

// repositoryIDs knows the forge's numbers of repositories, by path.
type repositoryIDs struct {
	pins repositoryPins // nil: none

	mu sync.Mutex
	by map[string]int64
}

func newRepositoryIDs(pins repositoryPins) *repositoryIDs {
	return &repositoryIDs{pins: pins, by: map[string]int64{}}
}

// of gives the number of what path belonged to when it was first read; 0: it was not.
func (r *repositoryIDs) of(path string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, _ := r.known(strings.ToLower(path))
	return id
}

func (r *repositoryIDs) known(path string) (int64, error) {
	if id := r.by[path]; id != 0 || r.pins == nil {
		return id, nil
	}
	id, err := r.pins.of(path)
	if err == nil && id != 0 {
		r.by[path] = id
	}
	return id, err
}

func (r *repositoryIDs) learn(path string, id int64) error {
	if id <= 0 {
		return &api.Error{Code: api.Internal, Reason: "repository_id", Message: "the forge gave the repository no number"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	path = strings.ToLower(path)
	old, err := r.known(path)
	switch {
	case err != nil:
		return internal(err)
	case old == id:
		return nil
	case old != 0:
		return replaced()
	}
	if r.pins != nil {
		r.pins.keep(path, id)
	}
	r.by[path] = id
	return nil
}

// forget drops what the process knows, so that the pins count.
func (r *repositoryIDs) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.by)
}

func replaced() *api.Error {
	return &api.Error{
		Code: api.Conflict, Reason: reasonReplaced,
		Message: "another repository of the forge has taken this one's name; nothing was done",
		Hint: "ask the operator to look at its address on the forge; where that repository is meant from now on, the operator registers it anew: " +
			"ship repo remove and ship repo add while the ship runs, and for a bridge with a bridge.yaml one start without the repository in it",
	}
}
