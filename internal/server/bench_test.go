package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"

	"fleet/internal/agent"
	"fleet/internal/atlas"
)

const (
	inFlight = 32
	// gcPercent is what the ship runs with.
	gcPercent = 400
)

// BenchmarkBare is the measure for BenchmarkStatusGet: the same bytes from a handler that does
// nothing. Run both at once: go test -bench 'Bare|StatusGet' -run - ./internal/server
func BenchmarkBare(b *testing.B) {
	p := busy(b)
	canned := []byte(p.post(alpha, statusGet).body)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(canned)
	}))
	defer far.Close()
	hammer(b, far.URL+alpha.MCPPath(), p.workspaces.token(alpha), statusGet, nil)
}

// BenchmarkStatusGet is agent_status_get with everything on.
func BenchmarkStatusGet(b *testing.B) {
	p := busy(b)
	hammer(b, p.base+alpha.MCPPath(), p.workspaces.token(alpha), statusGet, nil)
}

// BenchmarkModernStatusGet is the same in revision 2026-07-28.
func BenchmarkModernStatusGet(b *testing.B) {
	p := busy(b)
	body, headers := modernRequest("1", "tools/call", `{"name":"agent_status_get","arguments":{}}`)
	hammer(b, p.base+alpha.MCPPath(), p.workspaces.token(alpha), body, headers)
}

// busy is a port that logs to the disk and has an agent in alpha.
func busy(b *testing.B) *port {
	log, err := agent.OpenLog(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	p := open(b, func(c *Config) { c.Events = log })
	p.call(alpha, "agent_init", `{"model":"claude-opus-4","provider":"anthropic","harness":"claude-code"}`)
	p.call(alpha, "agent_status", `{"state":"building","description":"writing the parser for the envelope"}`)
	return p
}

// hammer posts b.N times over 32 kept-alive connections.
func hammer(b *testing.B, url, token, body string, headers []string) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight, DisableCompression: true}}
	defer client.CloseIdleConnections()
	one := func() error {
		r, err := http.NewRequest("POST", url, bytes.NewReader([]byte(body)))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 || n < 100 {
			return fmt.Errorf("status %d, %d bytes, %v", resp.StatusCode, n, err)
		}
		return nil
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	var workers sync.WaitGroup
	for w := range inFlight {
		workers.Go(func() {
			for i := w; i < b.N; i += inFlight {
				if err := one(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	// Of client and server together; on a busy machine this is what can be compared.
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/call")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// maxPerWorkspace bounds the heap that a workspace costs once its agent has called.
const maxPerWorkspace = 20 << 10

func TestTenThousandWorkspacesFitInLittleMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory would be counted")
	}
	const workspaces = 10_000
	p := open(t)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	var ids []atlas.ID
	for i := range workspaces {
		id := atlas.ID{Repo: "widgets", Name: fmt.Sprintf("w%d", i)}
		p.workspaces.activate(id)
		ids = append(ids, id)
	}
	before := heap()
	for _, id := range ids {
		p.server.mounts.of(p.server, id)
	}
	each := (heap() - before) / workspaces
	runtime.KeepAlive(p)
	t.Logf("a workspace takes %d bytes of heap", each)
	if each > maxPerWorkspace {
		t.Errorf("a workspace takes %d bytes of heap, more than %d", each, maxPerWorkspace)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
