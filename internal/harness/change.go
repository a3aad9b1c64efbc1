package harness

// change is one thing that a registration needs in one file.
type change interface {
	// file is the path as the harness reads it; key names the change within it, for the record.
	file() string
	key() string
	// find gives a digest of what stands in data for this change, "" for nothing.
	find(data []byte) (string, error)
	// want is the digest that find gives once the change is made.
	want() (string, error)
	// insert makes the change in data, which holds nothing for it yet. Made says how many of
	// the objects around it are new.
	insert(data []byte) (out []byte, added []span, made int, err error)
	// replace puts the change in the place of what stands there.
	replace(data []byte) ([]byte, error)
	// remove takes out what stands there, and up to made objects around it that are empty then.
	remove(data []byte, made int) ([]byte, error)
	// weight says what it means when something else stands there, or nothing can.
	weight() weight
}

// weight ranks a change.
type weight int

const (
	// entry is the registration itself: something else in its place is a conflict.
	entry weight = iota
	// rule lets a tool run unasked; who decided otherwise about it is left alone.
	rule
	// narrowing is a rule that is needed only in a list that is there already: making the list
	// would change what other tools may do.
	narrowing
)

// place is where a change stands.
type place struct {
	path string
	rank weight
}

func (p place) file() string   { return p.path }
func (p place) weight() weight { return p.rank }
