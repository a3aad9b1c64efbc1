package process

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
)

func TestATestAloneMayChangeItsEnvironment(t *testing.T) {
	for _, name := range []string{"one", "a (second) one"} {
		t.Run(name, func(t *testing.T) {
			if !Alone(t) {
				return
			}
			t.Setenv("PROCESS_TEST_MARK", name)
		})
	}
}

// How it went in the process of its own is how it went. The test itself can only be made to fail
// and to skip there.
func TestTheOutcomeOfATestAloneIsItsOwn(t *testing.T) {
	for name, want := range map[string]string{"fails": "--- FAIL: ", "is skipped": "--- SKIP: ", "does not come back": "--- FAIL: "} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("PROCESS_TEST_OUTCOME") == "" {
				out, err := outcome(t)
				if (err != nil) != strings.Contains(want, "FAIL") || !strings.Contains(out, want+t.Name()) {
					t.Errorf("of a test alone that %s, go test says %v and\n%s", name, err, out)
				}
				return
			}
			if !Alone(t) {
				return
			}
			switch name {
			case "fails":
				t.Error("it was made to")
			case "is skipped":
				t.Skip("it was made to")
			default:
				os.Exit(0)
			}
		})
	}
}

// outcome runs the calling test again, where it calls Alone.
func outcome(t *testing.T) (said string, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(t.Name(), "/")
	c := exec.Command(program, "-test.v", "-test.run=^"+parts[0]+"$/^"+parts[1]+"$")
	c.Env = append(os.Environ(), "PROCESS_TEST_OUTCOME=1", shipyard.QuickEnd)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestTheWatchSeesWhatBeginsWhileItLooks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at processes in /proc, which only Linux has")
	}
	run := func(word string) *exec.Cmd {
		c := exec.Command("sh", "-c", "read -r x", word)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = c.Wait() })
		return c
	}
	run("watched-before")
	a := WatchArguments(t, regexp.MustCompile(`watched-[a-z]+`))
	run("watched-while")
	seen := a.Stop()
	if len(seen) != 1 || !strings.Contains(seen["watched-while"], "read -r x") {
		t.Errorf("Stop() = %q, want watched-while alone, with its arguments", seen)
	}
}
