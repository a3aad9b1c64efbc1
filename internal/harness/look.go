package harness

import (
	"errors"
	"fmt"
	"strings"
)

// standing is how far one change is made.
type standing int

const (
	absent   standing = iota
	done              // as we would make it
	stale             // as we made it once
	foreign           // something else
	needless          // a narrowing for which there is no list, or a rule that the user decided on
)

// finding is a change with what stands for it in its file.
type finding struct {
	change
	standing
	ours bool // the record knows it
}

// view is the files of one harness, each read once.
type view struct{ files map[string]*file }

func (v *view) open(path string) (*file, error) {
	if f, ok := v.files[path]; ok {
		return f, nil
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	v.files[path] = f
	return f, nil
}

// look finds how far each change of a harness is made.
func (in *Installer) look(name string, changes []change, r *record) ([]finding, error) {
	v := &view{files: map[string]*file{}}
	var all []finding
	for _, c := range changes {
		f, err := v.open(c.file())
		if err != nil {
			return nil, err
		}
		found, err := lookAt(c, f.data, r.of(name, c.file()))
		if err != nil {
			return nil, named(err, c.file())
		}
		all = append(all, found)
	}
	return all, nil
}

// named puts the file's name into err.
func named(err error, path string) error {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		syntax.file = path
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func lookAt(c change, data []byte, f *fileRecord) (finding, error) {
	got, err := c.find(data)
	var shape *shape
	if errors.As(err, &shape) && c.weight() == narrowing {
		return finding{c, needless, false}, nil
	}
	if err != nil {
		return finding{}, err
	}
	want, err := c.want()
	if err != nil {
		return finding{}, err
	}
	var known entryRecord
	if f != nil {
		known = f.Entries[c.key()]
	}
	switch {
	case got == "" && c.weight() == narrowing:
		_, _, made, err := c.insert(data)
		if err != nil {
			return finding{}, err
		}
		if made > 0 || len(data) == 0 {
			return finding{c, needless, false}, nil
		}
		return finding{c, absent, false}, nil
	case got == "":
		return finding{c, absent, false}, nil
	case got == want:
		return finding{c, done, known.Digest == got}, nil
	case known.Digest == got:
		return finding{c, stale, true}, nil
	case c.weight() != entry:
		return finding{c, needless, false}, nil
	}
	return finding{c, foreign, false}, nil
}

// summary is the state of a harness, the registration itself being the first finding.
func summary(all []finding) (State, string) {
	var missing, old, strange []string
	for _, f := range all {
		what := strings.TrimSuffix(f.file()+" "+f.key(), " ")
		switch f.standing {
		case absent:
			missing = append(missing, what)
		case stale:
			old = append(old, what)
		case foreign:
			strange = append(strange, what)
		}
	}
	switch {
	case strange != nil:
		return Conflict, "not written by ship, or edited since: " + strings.Join(strange, ", ")
	case all[0].standing == absent:
		return NotInstalled, ""
	case old != nil:
		return Outdated, "written for another agent-mcp: " + strings.Join(old, ", ")
	case missing != nil:
		return Outdated, "missing: " + strings.Join(missing, ", ")
	}
	return Installed, ""
}
