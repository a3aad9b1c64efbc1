package token

import (
	"crypto/subtle"
	"sync"
)

// Table maps the hashes of tokens to what they open. It is safe for concurrent use; the zero
// Table is empty and ready.
type Table[V comparable] struct {
	mu      sync.RWMutex
	entries map[Hash]entry[V]
}

type entry[V comparable] struct {
	hash     Hash
	opens    V
	conflict bool // seen with two values: opens neither, until it is revoked
}

// Add lets tok open v. A token that already opens another value opens nothing from then on,
// since one of the two holders must have taken it from the other; Add then reports false, as it
// does for the zero Token.
func (t *Table[V]) Add(tok Token, v V) bool {
	if tok.IsZero() {
		return false
	}
	h := tok.Hash()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries == nil {
		t.entries = map[Hash]entry[V]{}
	}
	old, known := t.entries[h]
	conflict := known && (old.conflict || old.opens != v)
	t.entries[h] = entry[V]{hash: h, opens: v, conflict: conflict}
	return !conflict
}

// Lookup says what tok opens. What the map finds is compared once more in constant time.
func (t *Table[V]) Lookup(tok Token) (V, bool) {
	var none V
	if tok.IsZero() {
		return none, false
	}
	h := tok.Hash()
	t.mu.RLock()
	e, ok := t.entries[h]
	t.mu.RUnlock()
	if !ok || e.conflict || subtle.ConstantTimeCompare(e.hash[:], h[:]) != 1 {
		return none, false
	}
	return e.opens, true
}

// Revoke ends one token, at once.
func (t *Table[V]) Revoke(tok Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, tok.Hash())
}

// RevokeAll ends every token that opens v, at once. A token in conflict stays refused.
func (t *Table[V]) RevokeAll(v V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for h, e := range t.entries {
		if e.opens == v && !e.conflict {
			delete(t.entries, h)
		}
	}
}

// Keep ends every token that opens v but tok, at once: the second half of a rotation. A token in
// conflict stays refused.
func (t *Table[V]) Keep(tok Token, v V) {
	keep := tok.Hash()
	t.mu.Lock()
	defer t.mu.Unlock()
	for h, e := range t.entries {
		if e.opens == v && !e.conflict && h != keep {
			delete(t.entries, h)
		}
	}
}

// Len counts the tokens that open something.
func (t *Table[V]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := 0
	for _, e := range t.entries {
		if !e.conflict {
			n++
		}
	}
	return n
}
