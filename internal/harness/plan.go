package harness

import (
	"bytes"
	"errors"
	"slices"
)

// installFile makes what is missing of the changes to one file, and renews what is stale.
func installFile(w *work, found []finding) error {
	todo := slices.ContainsFunc(found, func(f finding) bool { return f.standing == absent || f.standing == stale })
	if !todo {
		return nil
	}
	rec := &fileRecord{Entries: map[string]entryRecord{}, Created: w.info == nil, Folders: missingFolders(w.path)}
	exact := true // taking out what was added gives the file from before
	if w.was != nil && w.info != nil {
		rec.Created, rec.Folders = w.was.Created, w.was.Folders
		var back []finding
		if exact = hash(w.data) == w.was.After && w.was.Added != nil; exact {
			// As nothing else changed, a renewal is a removal and a new start.
			before, err := takeOut(w.data, w.was.Added)
			if err != nil {
				return err
			}
			w.out = before
			for _, f := range found {
				if f.ours {
					f.standing = absent
				}
				back = append(back, f)
			}
			found = back
		}
	}
	for _, f := range found {
		if err := w.make(f, rec, exact); err != nil {
			return err
		}
	}
	if !exact {
		rec.Added = nil
	}
	rec.After = hash(w.out)
	w.rec = rec
	return nil
}

// make makes one change in w.out and notes it in rec.
func (w *work) make(f finding, rec *fileRecord, exact bool) error {
	want, err := f.want()
	if err != nil {
		return err
	}
	kept := entryRecord{Digest: want}
	if w.was != nil {
		kept.Made = w.was.Entries[f.key()].Made
	}
	switch f.standing {
	case absent:
		out, added, made, err := f.insert(w.out)
		if err != nil {
			return err
		}
		w.out = out
		kept.Made = made
		rec.Added = append(rec.Added, added...)
	case stale:
		out, err := f.replace(w.out)
		if err != nil {
			return err
		}
		w.out = out
	default:
		if !f.ours {
			return nil
		}
	}
	rec.Entries[f.key()] = kept
	return sure(f, w.out, want)
}

// sure reads back what was made: a file that its harness can't read would be worse than none.
func sure(c change, data []byte, want string) error {
	got, err := c.find(data)
	if err != nil || got != want {
		return errors.Join(err, &syntaxError{what: "it is written in a way that this ship can't add to"})
	}
	return nil
}

// uninstallFile takes out of one file what the record knows as ours.
func uninstallFile(w *work, found []finding) error {
	if w.was == nil {
		return nil
	}
	w.rec = nil
	if w.info == nil {
		return nil // the file went by itself
	}
	if hash(w.data) == w.was.After && w.was.Added != nil {
		before, err := takeOut(w.data, w.was.Added)
		if err != nil {
			return err
		}
		w.out = before
		w.gone = w.was.Created
		return nil
	}
	rest := map[string]entryRecord{}
	for _, f := range slices.Backward(found) {
		known, ok := w.was.Entries[f.key()]
		switch {
		case !ok:
		case f.ours:
			out, err := f.remove(w.out, known.Made)
			if err != nil {
				return err
			}
			w.out = out
		case f.standing == foreign:
			rest[f.key()] = known // edited; it is ours again if the edit is undone
		}
	}
	w.gone = w.was.Created && blank(w.out)
	if len(rest) > 0 {
		w.rec = &fileRecord{Entries: rest, Created: w.was.Created, Folders: w.was.Folders}
	}
	return nil
}

// blank says that nothing is in a file but white space and braces.
func blank(data []byte) bool {
	data, _ = bare(data)
	return len(bytes.Trim(data, " \t\r\n{}")) == 0
}
