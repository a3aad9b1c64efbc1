//go:build e2e

package longlife

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// countSocket, in the environment of a ship that buildCounting made, is where it tells how many
// goroutines it has.
const countSocket = "LONGLIFE_COUNT"

const countingMain = `package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
)

func init() {
	path := os.Getenv("` + countSocket + `")
	if path == "" {
		return
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			fmt.Fprint(c, runtime.NumGoroutine())
			c.Close()
		}
	}()
}
`

// buildCounting builds a ship that can be asked for its goroutines into dir: the product has no
// such door.
func buildCounting(dir string) error {
	module, err := goCommand("list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	return buildOver(dir, map[string]string{filepath.Join(module, "cmd", "ship", "count_goroutines.go"): countingMain}, "fleet/cmd/ship")
}

// goroutines asks the ship for them.
func (f *fleet) goroutines(t *testing.T) float64 {
	t.Helper()
	conn, err := net.DialTimeout("unix", f.countPath(), shipyard.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(shipyard.Patience))
	said := make([]byte, 20)
	n, err := conn.Read(said)
	if err != nil {
		t.Fatal(err)
	}
	return number(t, string(said[:n]))
}

// sample is what a ship that tells its goroutines uses.
func (f *fleet) sample(t *testing.T) sample {
	t.Helper()
	s := take(t, f.ship.PID())
	s["goroutines"] = f.goroutines(t)
	return s
}

func (f *fleet) countPath() string { return filepath.Join(f.dir, "count") }

// buildOver builds programs into dir as though the files at the keys, of the module or of the
// standard library, had the text of the values.
func buildOver(dir string, files map[string]string, programs ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	replace := map[string]string{}
	for place, text := range files {
		replace[place] = filepath.Join(dir, "overlay"+strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(replace[place], []byte(text), 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		return err
	}
	_, err = goCommand(append([]string{"build", "-overlay", path, "-o", dir + string(filepath.Separator)}, programs...)...)
	return err
}

func goCommand(args ...string) (string, error) {
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %q: %w: %s", args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
