package workspace

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// copy copies a regular file and its time of change: git takes a file that is as new as the
// index for one that may have changed since. All copies of one look have a bound together.
func (s *shadow) copy(ctx context.Context, from *os.Root, name string, limit int64, needed bool) error {
	in, err := openRegular(from, name)
	if errors.Is(err, os.ErrNotExist) && !needed {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if st.Size() > limit {
		return fmt.Errorf("its %s has more than %d bytes", name, limit)
	}
	if st.Size() > s.left {
		return fmt.Errorf("with its %s, more than %d bytes would have to be copied", name, maxCopiedBytes)
	}
	path := filepath.Join(s.dir, name)
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(reader{ctx, in}, min(limit, s.left)))
	s.left -= n
	return errors.Join(err, out.Close(), os.Chtimes(path, st.ModTime(), st.ModTime()))
}

// reader ends with ctx.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// copyShared copies the other part of a split index: the one that the copied index names.
func (s *shadow) copyShared(ctx context.Context, own *os.Root) error {
	file, err := os.Open(filepath.Join(s.dir, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	copied := map[string]bool{}
	return links(reader{ctx, file}, func(id string) error {
		name := "sharedindex." + id
		if _, err := own.Lstat(name); err != nil || copied[name] {
			return nil
		}
		copied[name] = true
		return s.copy(ctx, own, name, maxCopiedBytes, false)
	})
}

// links finds what may be the link extension of an index (gitformat-index(5), "Split index"): its
// signature, a length in four bytes and the shared index's id. It does not read the entries
// before it, in whose paths the same bytes may stand by chance; such an id names no file.
func links(index io.Reader, found func(id string) error) error {
	const head, longest = len("link") + 4, 32
	in := bufio.NewReaderSize(index, 1<<16)
	for {
		b, err := in.Peek(head + longest)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(b) < head+20 {
			return nil
		}
		// No index that is copied has an extension of 2^28 bytes or more.
		if string(b[:4]) == "link" && b[4] < 0x10 {
			size := int(binary.BigEndian.Uint32(b[4:head]))
			for _, n := range []int{20, longest} {
				if size >= n && len(b) >= head+n {
					if err := found(hex.EncodeToString(b[head : head+n])); err != nil {
						return err
					}
				}
			}
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
	}
}
