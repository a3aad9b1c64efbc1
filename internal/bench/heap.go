package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// The heap can only be seen from within, so this is the server's own test, and what it logs.
const (
	heapTest = "TestTenThousandWorkspacesFitInLittleMemory"
	heapLine = `a workspace takes (\d+) bytes of heap`
)

func measureHeap(ctx context.Context, b *bench) ([]row, error) {
	argv := []string{"go", "test", "-count=1", "-v", "-run", "^" + heapTest + "$", "./internal/server"}
	out, failed := program{argv, os.Environ(), filepath.Join(b.here, "..", "..")}.output(ctx)
	each, err := heapPerWorkspace(out)
	if err != nil && failed != nil {
		err = failed
	}
	return heapRows(each), err
}

func heapRows(each series) []row {
	return []row{{"heap per workspace at 10,000", "KiB", each, atMost(20), "as " + heapTest + " finds it"}}
}

// heapPerWorkspace reads what the test logged, in KiB.
func heapPerWorkspace(log []byte) (series, error) {
	found := regexp.MustCompile(heapLine).FindSubmatch(log)
	if found == nil {
		return nil, fmt.Errorf("%s of internal/server does not say what a workspace takes:\n%s", heapTest, log)
	}
	bytes, err := strconv.ParseFloat(string(found[1]), 64)
	return series{bytes / 1024}, err
}
