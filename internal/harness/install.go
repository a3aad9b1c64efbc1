package harness

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Outcome is what Install or Uninstall did to one harness.
type Outcome struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Files lists the files that were changed, or would be with dry.
	Files []string `json:"files"`
	// Diff shows it, in unified form.
	Diff string `json:"diff,omitempty"`
	// Left names what stands in place of ours, and was left alone.
	Left []string `json:"left,omitempty"`
	Note string   `json:"note,omitempty"`
}

// ErrConflict says that under our key stands what we did not write, or what was edited since.
var ErrConflict = errors.New("not written by ship, or edited since, so it was left alone")

// work is one file of a harness on its way.
type work struct {
	*file
	out  []byte
	was  *fileRecord // nil: none
	rec  *fileRecord // nil: nothing of ours is left
	gone bool        // the file goes, too
}

func (w *work) changed() bool { return !bytes.Equal(w.out, w.data) || w.gone }

// Install registers the harness called name, or brings its registration up to date. It changes
// nothing, and names no file, where all is as it should be; nothing at all where dry is set or
// one of the harness's files can't take its part. Its error is ErrConflict where the key is taken.
func (in *Installer) Install(name string, dry bool) (Outcome, error) {
	return in.each(name, dry, func(c client, changes []change, r *record) ([]*work, []string, error) {
		found, err := in.look(c.name, changes, r)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range found {
			if f.standing == foreign {
				return nil, nil, fmt.Errorf("%s in %s: %w; next: remove it there and run this again, or make it what `ship harness print %s` shows", orFile(f.key()), f.file(), ErrConflict, c.name)
			}
		}
		all, err := byFile(c.name, found, r, installFile)
		return all, nil, err
	})
}

func orFile(key string) string {
	if key == "" {
		return "the text"
	}
	return key
}

// Uninstall removes what Install wrote for the harness called name, and no more. Where nothing
// else in a file changed since, its bytes are those from before; a file that Install made goes if
// nothing else is in it. With dry it changes nothing.
func (in *Installer) Uninstall(name string, dry bool) (Outcome, error) {
	return in.each(name, dry, func(c client, changes []change, r *record) ([]*work, []string, error) {
		found, err := in.look(c.name, changes, r)
		if err != nil {
			return nil, nil, err
		}
		var left []string
		for _, f := range found {
			if f.weight() == entry && f.standing != absent && !f.ours {
				left = append(left, fmt.Sprintf("%s in %s", orFile(f.key()), f.file()))
			}
		}
		all, err := byFile(c.name, found, r, uninstallFile)
		return all, left, err
	})
}

// planner says what becomes of a harness's files, and what stands in our place and is left.
type planner func(client, []change, *record) (all []*work, left []string, err error)

// each runs one command on one harness.
func (in *Installer) each(name string, dry bool, plan planner) (Outcome, error) {
	c, err := clientNamed(name)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Name: c.name, Title: c.title, Note: c.note, Files: []string{}}
	if dry {
		r, err := in.record()
		if err != nil {
			return out, err
		}
		_, err = in.planned(c, r, plan, &out)
		return out, err
	}
	return out, in.locked(func(r *record) error {
		all, err := in.planned(c, r, plan, &out)
		if err != nil {
			return err
		}
		for _, w := range all {
			if err := in.carryOut(c.name, r, w); err != nil {
				return err
			}
		}
		return nil
	})
}

// planned tells in out what plan would change.
func (in *Installer) planned(c client, r *record, plan planner, out *Outcome) ([]*work, error) {
	if !utf8.ValidString(in.adapter) {
		return nil, fmt.Errorf("the path of agent-mcp, %q, is not UTF-8, and no harness's file can hold it; next: move the programs to a folder with another name", in.adapter)
	}
	changes, err := c.changes(in.home, in.adapter)
	if err != nil {
		return nil, err
	}
	all, left, err := plan(c, changes, r)
	if err != nil {
		return nil, err
	}
	out.Left = left
	for _, w := range all {
		w.keepLinked()
		if w.gone {
			w.out = nil
		}
		if w.changed() {
			out.Files = append(out.Files, w.path)
			out.Diff += string(diff.Diff(w.path, w.data, w.path, w.out))
		}
	}
	return all, nil
}

// keepLinked lets a file stay, with nothing in it, to which the user made a link: it is theirs now,
// and the link would lead nowhere.
func (w *work) keepLinked() {
	if !w.gone || w.target == w.path {
		return
	}
	w.gone = false
	if filepath.Ext(w.target) != ".toml" && len(bytes.TrimSpace(w.out)) == 0 {
		w.out = []byte("{}\n") // an empty file is no JSON
	}
}

// byFile hands the findings of each file to f, in the order of their files' names.
func byFile(name string, found []finding, r *record, f func(*work, []finding) error) ([]*work, error) {
	groups := map[string][]finding{}
	for _, one := range found {
		groups[one.file()] = append(groups[one.file()], one)
	}
	var all []*work
	for _, path := range slices.Sorted(maps.Keys(groups)) {
		read, err := open(path)
		if err != nil {
			return nil, err
		}
		w := &work{file: read, out: read.data, was: r.of(name, path)}
		w.rec = w.was
		if err := f(w, groups[path]); err != nil {
			return nil, named(err, path)
		}
		all = append(all, w)
	}
	return all, nil
}

// carryOut writes one file. The record goes first: if this program ends between the two, an entry
// that isn't there does no harm, and one that is there is known.
func (in *Installer) carryOut(name string, r *record, w *work) error {
	if !w.changed() && w.rec == w.was {
		return nil
	}
	if w.rec != nil {
		r.set(name, w.path, w.rec)
		if err := in.save(r); err != nil {
			return err
		}
	}
	if err := w.apply(); err != nil {
		r.set(name, w.path, w.was)
		return errors.Join(err, in.save(r))
	}
	if w.rec == nil {
		r.set(name, w.path, nil)
		return in.save(r)
	}
	return nil
}

func (w *work) apply() error {
	switch {
	case w.gone:
		return w.erase(w.was.Folders)
	case w.changed():
		return w.write(w.out)
	}
	return nil
}
