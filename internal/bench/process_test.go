package main

import (
	"os"
	"testing"
	"time"
)

func TestProcessorTimeIsReadBehindAnyCommandName(t *testing.T) {
	// The fields 14 to 17 of proc(5): 7 and 5 ticks of its own, 3 and 1 of its children.
	const stat = "42 (a) 1 2 (b) S 1 42 42 0 -1 4194560 900 0 0 0 7 5 3 1 20 0 8 0 123456 1 1 1\n"
	got, err := parseCPU(stat)
	if want := 160 * time.Millisecond; got != want || err != nil {
		t.Errorf("parseCPU(%q) = %v, %v; want %v", stat, got, err, want)
	}
	if _, err := parseCPU("42 (a) S 1"); err == nil {
		t.Error("parseCPU took a line that is too short")
	}
}

func TestAProcessesMemoryIsRead(t *testing.T) {
	got, err := resident(os.Getpid())
	if err != nil || got < 1 || got > 4096 {
		t.Errorf("resident(ourselves) = %v MiB, %v", got, err)
	}
}

func TestOnlyPartsThatExistAreChosen(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != 4 {
		t.Errorf(`choose("") gives %d parts, %v; want all 4`, len(all), err)
	}
	some, err := choose("ship,adapter")
	if err != nil || len(some) != 2 || some[0].name != "ship" || some[1].name != "adapter" {
		t.Errorf(`choose("ship,adapter") = %v, %v`, some, err)
	}
	if _, err := choose("ship,shop"); err == nil {
		t.Error(`choose took a part "shop"`)
	}
}

func TestSessionsAreNamedAsTheShipNamesThem(t *testing.T) {
	const want = "ws-bd94faf487c744b9b1586a1476fb0b710102c239c0c9ab773abd7208fc46f9ec"
	if got := sessionName("r", "w"); got != want {
		t.Errorf("sessionName(r, w) = %s, want %s", got, want)
	}
}

func TestTheHeapIsReadFromTheServersTest(t *testing.T) {
	got, err := heapPerWorkspace([]byte("=== RUN\n    bench_test.go:1: a workspace takes 9216 bytes of heap\nPASS\n"))
	if err != nil || got.median() != 9 {
		t.Errorf("heapPerWorkspace = %v, %v; want 9 KiB", got, err)
	}
	if got, err := heapPerWorkspace([]byte("testing: warning: no tests to run\nPASS\n")); err == nil {
		t.Errorf("without the test's line it gives %v", got)
	}
}
