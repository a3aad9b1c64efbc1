package github

import (
	"context"
	"slices"

	"fleet/api"
)

// stream reads one of a conversation's lists from its newest comment backwards. GitHub gives these
// lists oldest first; its links lead to the last page, and back from there.
type stream struct {
	load  func(ctx context.Context, address string) ([]api.Comment, links, error)
	first string // address of the list's first page

	page    string        // the one that is being read; "": none yet
	left    []api.Comment // of page, not taken yet, oldest first
	taken   int64         // id of the last one taken from page; 0: none
	prev    string        // the page before; "": page is the first, or forward is set
	forward bool          // the forge links forward only
	done    bool
}

// position is where a stream stands, in a cursor. The pages of a list that grows at its end keep
// their content, so that a page's address and the last comment taken from it say enough.
type position struct {
	Page    string `json:"p,omitempty"` // relative; "": at the very newest
	ID      int64  `json:"i,omitempty"`
	Forward bool   `json:"f,omitempty"`
	Done    bool   `json:"d,omitempty"`
}

// newest gives the newest comment that has not been taken; nil: there is none.
func (s *stream) newest(ctx context.Context) (*api.Comment, error) {
	for len(s.left) == 0 && !s.done {
		if err := s.back(ctx); err != nil {
			return nil, err
		}
	}
	if len(s.left) == 0 {
		return nil, nil
	}
	return &s.left[len(s.left)-1], nil
}

// take removes the newest comment.
func (s *stream) take() {
	s.taken = s.left[len(s.left)-1].ID
	s.left = s.left[:len(s.left)-1]
}

// back goes to the page before, or to the last one at the start.
func (s *stream) back(ctx context.Context) error {
	before := s.prev
	switch {
	case s.page == "":
		return s.open(ctx)
	case s.forward && s.page != s.first:
		var err error
		if before, err = s.before(ctx, s.page); err != nil {
			return err
		}
	}
	if s.done = before == ""; s.done {
		return nil
	}
	return s.read(ctx, before)
}

// open begins with the list's last page.
func (s *stream) open(ctx context.Context) error {
	comments, l, err := s.load(ctx, s.first)
	if err != nil {
		return err
	}
	if l.next == "" {
		s.page, s.left = s.first, comments
		return nil
	}
	if l.last != "" {
		if err := s.read(ctx, l.last); err != nil || s.prev != "" {
			return err
		}
	}
	s.forward = true
	last, err := s.before(ctx, "")
	if err != nil {
		return err
	}
	return s.read(ctx, last)
}

// before finds, by walking the list from its start, the page before the given one; of one that is
// not there (any more), the last.
func (s *stream) before(ctx context.Context, page string) (string, error) {
	last, address := "", s.first
	for range maxPages {
		if address == page {
			break
		}
		_, l, err := s.load(ctx, address)
		if err != nil {
			return "", err
		}
		last = address
		if l.next == "" {
			break
		}
		address = l.next
	}
	return last, nil
}

func (s *stream) read(ctx context.Context, address string) error {
	comments, l, err := s.load(ctx, address)
	if err != nil {
		return err
	}
	s.page, s.left, s.prev, s.taken = address, comments, l.prev, 0
	return nil
}

// stands says where the stream is, and seek brings another one there.
func (s *stream) stands(at place) position {
	switch {
	case s.done:
		return position{Done: true}
	case s.page == "":
		return position{}
	}
	return position{Page: at.relative(s.page), ID: s.taken, Forward: s.forward}
}

func (s *stream) seek(ctx context.Context, page string, to position) error {
	if s.done = to.Done; s.done || to.Page == "" {
		return nil
	}
	s.forward = to.Forward
	if err := s.read(ctx, page); err != nil {
		return err
	}
	if to.ID == 0 {
		return nil
	}
	s.taken = to.ID
	if i := slices.IndexFunc(s.left, func(c api.Comment) bool { return c.ID == to.ID }); i >= 0 {
		s.left = s.left[:i]
		return nil
	}
	// It was deleted meanwhile.
	s.left = slices.DeleteFunc(s.left, func(c api.Comment) bool { return c.ID >= to.ID })
	return nil
}
