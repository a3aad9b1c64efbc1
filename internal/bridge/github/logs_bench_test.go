package github

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// BenchmarkFailedLogsOf100MB reads a job's log as the bridge does, over HTTP, and reports by how
// much the heap grew meanwhile, the far end's part included.
func BenchmarkFailedLogsOf100MB(b *testing.B) {
	const size = 100 << 20
	f, p := newForge(b)
	h := newLogHost(b)
	f.failing(f.job(h, 100, "build", "x"))
	h.logs["/blob/100"] = func(w http.ResponseWriter) { _, _ = io.Copy(w, bigLog(size, usualLine)) }
	b.SetBytes(size)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapInuse)
			}
		}
	}()
	for b.Loop() {
		got, err := p.FailedLogs(b.Context(), f.repo, target, "")
		if err != nil || !strings.Contains(got.Jobs[0].Excerpt, "at the very end") {
			b.Fatal(got, err)
		}
	}
	close(done)
	<-ended
	b.ReportMetric(float64(int64(most)-int64(before.HeapInuse))/(1<<20), "MiB-heap")
}
