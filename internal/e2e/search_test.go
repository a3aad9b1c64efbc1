//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// secrets are the texts that give something away: the beginning and the end of a token, so that
// one that was cut is found too, and the token as base64 has it.
type secrets map[string][]byte

func secretsOf(token string) secrets {
	_, random, _ := strings.Cut(token, "_")
	whole := base64.RawStdEncoding.EncodeToString([]byte(token))
	return secrets{
		"the beginning of the token": []byte(random[:16]),
		"the end of the token":       []byte(random[len(random)-16:]),
		"the token in base64":        []byte(whole[:32]),
	}
}

// in says which of them data holds, or "".
func (s secrets) in(data []byte) string {
	for name, text := range s {
		if bytes.Contains(data, text) {
			return name
		}
	}
	return ""
}

// files gives what each regular file at or below root holds of s, by its path.
func (s secrets) files(t *testing.T, root string) map[string]string {
	t.Helper()
	found, read := map[string]string{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.Type().IsRegular() {
			return nil
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		switch name := s.in(data); {
		case errors.Is(err, fs.ErrNotExist) && path != root: // a program has just removed it
			return nil
		case err != nil:
			return err
		case name != "":
			found[path] = name
		}
		read++
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("search %s: read %d files: %v", root, read, err)
	}
	return found
}

// processWatch looks again and again at the environment and the arguments of every process of the
// machine: a harness and what it starts are gone before a test can look at leisure.
type processWatch struct {
	wanted map[string]secrets // by what they are called
	end    chan struct{}
	ended  sync.WaitGroup
	found  map[string]map[string]string // by what they are called: command lines, by file
}

func newProcessWatch(wanted map[string]secrets) *processWatch {
	w := &processWatch{wanted: wanted, end: make(chan struct{}), found: map[string]map[string]string{}}
	for name := range wanted {
		w.found[name] = map[string]string{}
	}
	return w
}

// watchProcesses looks until it is stopped.
func watchProcesses(wanted map[string]secrets) *processWatch {
	w := newProcessWatch(wanted)
	w.ended.Go(func() {
		for {
			w.look()
			select {
			case <-w.end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *processWatch) look() {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, environ := range paths {
		arguments := filepath.Join(filepath.Dir(environ), "cmdline")
		command, _ := os.ReadFile(arguments) // a process that has ended has nothing
		for _, path := range []string{environ, arguments} {
			data, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			for name, s := range w.wanted {
				if s.in(data) != "" {
					w.found[name][path] = strings.ReplaceAll(string(command), "\x00", " ")
				}
			}
		}
	}
}

// stop gives what was found of each, and may be called again.
func (w *processWatch) stop() map[string]map[string]string {
	select {
	case <-w.end:
	default:
		close(w.end)
	}
	w.ended.Wait()
	return w.found
}

// TestTheSearchFindsAPlantedToken is the control of every search for a token that finds none.
func TestTheSearchFindsAPlantedToken(t *testing.T) {
	for name, token := range map[string]string{"of 40 characters": personalToken(), "of 520 characters": installationToken()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := secretsOf(token)
			dir := t.TempDir()
			for file, text := range map[string]string{
				"whole": "{\"token\":\"" + token + "\"}", "cut": token[:24] + "…", "end": token[len(token)-20:],
				"encoded": base64.StdEncoding.EncodeToString([]byte(token)), "clean": "ghp_" + letters(36),
			} {
				writeFile(t, filepath.Join(mkdir(t, dir, ".below"), file), 0o600, text)
			}
			found := wanted.files(t, dir)
			if _, clean := found[filepath.Join(dir, ".below", "clean")]; clean || len(found) != 4 {
				t.Errorf("found %q, want all but the clean one", found)
			}
			if seen := seenOnce(t, wanted, []string{"PLANTED=" + token}, []string{token}); len(seen) != 2 {
				t.Errorf("saw the token in %v of two processes, want environ and cmdline", seen)
			}
		})
	}
}

// seenOnce starts one process with env and another with arguments, and gives in what files of
// theirs wanted is seen.
func seenOnce(t *testing.T, wanted secrets, env, arguments []string) map[string]bool {
	t.Helper()
	const waits = "read line; true"
	for _, c := range []*exec.Cmd{
		{Path: "/bin/sh", Args: []string{"sh", "-c", waits}, Env: env},
		{Path: "/bin/sh", Args: slices.Concat([]string{"sh", "-c", waits, "sh"}, arguments)},
	} {
		stdin, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stdin.Close(); _ = c.Wait() })
	}
	w := newProcessWatch(map[string]secrets{"token": wanted})
	seen := map[string]bool{}
	// A process that has just been started may not have its environment yet.
	for deadline := time.Now().Add(10 * time.Second); len(seen) < 2 && time.Now().Before(deadline); w.look() {
		for path := range w.found["token"] {
			seen[filepath.Base(path)] = true
		}
	}
	return seen
}
