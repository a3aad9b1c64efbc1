package bridge

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	maxAnswer  = 1 << 20  // larger ones aren't remembered
	maxAnswers = 32 << 20 // all together
)

// answers remembers answers that carry an ETag, so that the forge need not send them again: on
// GitHub a 304 costs nothing of the quota. The one asked for least recently goes first.
type answers struct {
	mu    sync.Mutex
	by    map[string]*list.Element // of *keptAnswer
	order *list.List               // the newest in front
	size  int
}

type keptAnswer struct {
	key    string
	etag   string
	header http.Header
	body   []byte
}

func (a *keptAnswer) weight() int { return len(a.body) + 2<<10 }

func newAnswers() *answers { return &answers{by: map[string]*list.Element{}, order: list.New()} }

// asked is a request that may be answered from memory.
type asked struct {
	key   string
	known *keptAnswer // nil: nothing yet
}

// revalidate lets req ask for news only. ETags differ between credentials and forms, so that an
// answer is remembered for its own alone. A caller that makes conditions of its own is left alone.
func (s *answers) revalidate(req *http.Request, credential string) *asked {
	if req.Method != http.MethodGet || req.Header.Get("If-None-Match") != "" ||
		req.Header.Get("If-Modified-Since") != "" || req.Header.Get("Range") != "" {
		return nil
	}
	a := &asked{key: strings.Join([]string{
		credential, strings.Join(req.Header.Values("Accept"), ","),
		req.Header.Get("X-Github-Api-Version"), req.URL.String(),
	}, "\n")}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.by[a.key]; e != nil {
		s.order.MoveToFront(e)
		a.known = e.Value.(*keptAnswer)
		req.Header.Set("If-None-Match", a.known.etag)
	}
	return a
}

// confirms says that resp is the forge's word that what is remembered is still so.
func (a *asked) confirms(resp *http.Response) bool {
	return a != nil && a.known != nil && resp.StatusCode == http.StatusNotModified
}

// answer gives the answer that a 304 confirms, with the 304's newer headers (RFC 9111 §4.3.4).
func (a *asked) answer(resp *http.Response) *http.Response {
	discard(resp)
	header := a.known.header.Clone()
	for name, values := range resp.Header {
		switch name {
		case "Content-Length", "Content-Encoding", "Content-Type", "Content-Range":
		default:
			header[name] = values
		}
	}
	resp.Status, resp.StatusCode = "200 OK", http.StatusOK
	resp.Header, resp.Body = header, io.NopCloser(bytes.NewReader(a.known.body))
	resp.ContentLength = int64(len(a.known.body))
	return resp
}

// keeper collects an answer while it is read.
type keeper struct {
	store *answers
	next  keptAnswer
	over  bool
}

// keeper gives nil for an answer that isn't to be remembered.
func (s *answers) keeper(a *asked, resp *http.Response) *keeper {
	etag := resp.Header.Get("ETag")
	if a == nil || resp.StatusCode != http.StatusOK || etag == "" || resp.ContentLength > maxAnswer ||
		strings.Contains(strings.ToLower(resp.Header.Get("Cache-Control")), "no-store") {
		return nil
	}
	return &keeper{store: s, next: keptAnswer{key: a.key, etag: etag, header: resp.Header.Clone()}}
}

func (k *keeper) write(p []byte) {
	if k == nil || k.over {
		return
	}
	if k.over = len(k.next.body)+len(p) > maxAnswer; k.over {
		k.next.body = nil
		return
	}
	k.next.body = append(k.next.body, p...)
}

// commit remembers the answer, whose end has been seen.
func (k *keeper) commit() {
	if k != nil && !k.over {
		k.store.put(&k.next)
	}
}

func (s *answers) put(a *keptAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.by[a.key]; old != nil {
		s.forget(old)
	}
	s.by[a.key] = s.order.PushFront(a)
	s.size += a.weight()
	for s.size > maxAnswers {
		s.forget(s.order.Back())
	}
}

// forget is called with mu held.
func (s *answers) forget(e *list.Element) {
	a := s.order.Remove(e).(*keptAnswer)
	delete(s.by, a.key)
	s.size -= a.weight()
}
