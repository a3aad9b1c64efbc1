package talk

import (
	"strings"
	"sync"
)

// Words collects what is said, and may be read meanwhile. The zero value is ready, for several
// goroutines.
type Words struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write makes Words the output of a process, or a log. It takes all of p.
func (w *Words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// String is all that was said so far.
func (w *Words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Forget empties Words, which would fill the memory of a test that never ends.
func (w *Words) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Reset()
}
