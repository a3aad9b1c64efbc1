package github

import (
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
)

// bigLog gives a log of about size bytes whose failed step ends in an error, without holding it.
func bigLog(size int, line string) io.Reader {
	_, log := failedJob("@")
	before, after, _ := strings.Cut(log, "2026-03-04T05:06:20.0000000Z @\r\n")
	stamped := []byte("2026-03-04T05:06:20.0000000Z " + line + "\n")
	return io.MultiReader(strings.NewReader(before), &repeater{line: stamped, left: size},
		strings.NewReader("2026-03-04T05:06:29.0000000Z panic: at the very end\n"+after))
}

// repeater numbers its lines, so that they don't collapse.
type repeater struct {
	line []byte
	left int
	rest []byte
	n    uint
}

func (r *repeater) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left <= 0 {
			return 0, io.EOF
		}
		r.n++
		at := 35
		for v := r.n; v > 0 && at > 29; v /= 10 {
			at--
			r.line[at] = byte('0' + v%10)
		}
		r.rest = r.line
		r.left -= len(r.rest)
	}
	total := 0
	for total < len(p) && len(r.rest) > 0 {
		n := copy(p[total:], r.rest)
		total, r.rest = total+n, r.rest[n:]
	}
	return total, nil
}

const usualLine = "000000 compiling package example.com/widgets/internal/thing and what it needs, without trouble"

func BenchmarkExcerptOf100MB(b *testing.B) {
	for name, line := range map[string]string{"usual": usualLine, "errors everywhere": "000000 Error: " + usualLine, "long lines": "000000 " + strings.Repeat("long ", 40<<10)} {
		b.Run(name, func(b *testing.B) {
			const size = 100 << 20
			job, _ := failedJob()
			_, windows := failedSteps(job)
			b.SetBytes(size)
			for b.Loop() {
				found, err := newStepReader(windows, func() sink { return newExcerpt(strings.Clone) }).read(bigLog(size, line))
				if words, _ := found.(*excerpt).render(maxExcerpt); err != nil || !strings.Contains(words, "at the very end") {
					b.Fatal(err, words)
				}
			}
		})
	}
}

// TestBigLogNeedsLittleMemory reads 100 MB of the worst lines there are, and looks at the heap all
// the while.
func TestBigLogNeedsLittleMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	job, _ := failedJob()
	_, windows := failedSteps(job)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	watch := &watched{Reader: bigLog(100<<20, "000000 Error: "+strings.Repeat("long ", 600)), look: func() {
		runtime.ReadMemStats(&now)
		most.Store(max(most.Load(), now.HeapInuse))
	}}
	found, err := newStepReader(windows, func() sink { return newExcerpt(strings.Clone) }).read(watch)
	if err != nil || !strings.Contains(first(found.(*excerpt).render(maxExcerpt)), "at the very end") {
		t.Fatal("the error at the end is not there", err)
	}
	grown := int64(most.Load()) - int64(before.HeapInuse)
	t.Logf("heap grew by at most %.1f MiB", float64(grown)/(1<<20))
	if grown > 16<<20 {
		t.Errorf("heap grew by %d bytes, want at most 16 MiB", grown)
	}
}

func first[A, B any](a A, _ B) A { return a }

type watched struct {
	io.Reader
	look func()
	read int
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.read += n; w.read > 4<<20 {
		w.read = 0
		w.look()
	}
	return n, err
}
