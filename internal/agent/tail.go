package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"
)

// tail reads the lines of one log, from its oldest kept file on, while it may be written and
// rotated. It holds its file by a handle, so that a rename does not lose its place.
type tail struct {
	path  string
	since time.Time // files that were last written before it are passed over

	file   *os.File // nil until the log exists
	final  bool     // the file was rotated: nothing will be added to it
	offset int64    // after the last whole line
	lines  *bufio.Reader
}

// next gives the next whole line with its newline, or nil where there is none at the moment.
func (t *tail) next() ([]byte, error) {
	for {
		line, err := t.read()
		if line != nil || err != nil {
			return line, err
		}
		// A file that turns out to be rotated is read to its end once more before it is left:
		// lines may have been added between the read and the rotation.
		if !t.final {
			if !t.rotated() {
				return nil, nil
			}
			t.final = true
			continue
		}
		if moved, err := t.advance(); err != nil || !moved {
			return nil, err
		}
	}
}

// read is next within the file that t is in. The beginning of a line is not kept:
// its writer may cut it off again and put another one in its place.
func (t *tail) read() ([]byte, error) {
	if t.file == nil {
		return nil, nil
	}
	if t.lines == nil {
		t.lines = bufio.NewReaderSize(io.NewSectionReader(t.file, t.offset, math.MaxInt64-t.offset), 64<<10)
	}
	line, err := t.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		t.lines = nil
		if st, err := t.file.Stat(); err == nil && st.Size() < t.offset {
			t.offset = 0 // it was emptied
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.path, err)
	}
	t.offset += int64(len(line))
	return line, nil
}

// rotated says that another file stands under the log's name, or that t is in none yet.
func (t *tail) rotated() bool {
	if t.file == nil {
		return true
	}
	own, err1 := t.file.Stat()
	current, err2 := os.Stat(t.path)
	return err1 == nil && err2 == nil && !os.SameFile(own, current)
}

// advance moves on to the next younger file of the log, if there is one.
func (t *tail) advance() (moved bool, err error) {
	files, err := t.generations()
	if err != nil {
		return false, err
	}
	next, err := t.younger(files)
	for i, f := range files {
		if err != nil || i != next {
			_ = f.Close()
		}
	}
	if err != nil || next == len(files) {
		return false, err
	}
	t.close()
	t.file, t.final, t.offset, t.lines = files[next], false, 0, nil
	return true, nil
}

// younger gives the place in files of the one that follows t's own.
func (t *tail) younger(files []*os.File) (int, error) {
	var own fs.FileInfo
	if t.file != nil {
		var err error
		if own, err = t.file.Stat(); err != nil {
			return 0, err
		}
	}
	first := 0
	for i, f := range files {
		st, err := f.Stat()
		switch {
		case err != nil:
			return 0, err
		case own != nil && os.SameFile(own, st):
			return i + 1, nil
		// A file's time may be a clock tick older than its last event.
		case own == nil && i < len(files)-1 && st.ModTime().Add(time.Second).Before(t.since):
			first = i + 1
		// Of t's own file nothing is left but our handle: it was removed, and what is not younger
		// was read before it, or it was rotated away, and all are younger.
		case own != nil && i < len(files)-1 && !st.ModTime().After(own.ModTime()):
			first = i + 1
		}
	}
	return first, nil
}

// generations opens the log's files, oldest first. It looks again where a rotation came between.
func (t *tail) generations() ([]*os.File, error) {
	for range 10 {
		files, whole, err := t.openAll()
		if err != nil || whole {
			return files, err
		}
		for _, f := range files {
			_ = f.Close()
		}
	}
	return nil, fmt.Errorf("read %s: it is being rotated all the time", t.path)
}

func (t *tail) openAll() (files []*os.File, whole bool, err error) {
	var paths []string
	for i := keptLogs; i > 0; i-- {
		paths = append(paths, generation(t.path, i))
	}
	for _, path := range append(paths, t.path) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, false, err
		}
		files = append(files, f)
	}
	return files, t.unmoved(files), nil
}

// unmoved says whether each file still stands under its name, and none was added.
func (t *tail) unmoved(files []*os.File) bool {
	for i := keptLogs; i >= 0; i-- {
		st, err := os.Stat(generation(t.path, i))
		if err != nil {
			continue
		}
		found := slices.ContainsFunc(files, func(f *os.File) bool {
			own, err := f.Stat()
			return err == nil && os.SameFile(own, st) && f.Name() == generation(t.path, i)
		})
		if !found {
			return false
		}
	}
	return true
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
