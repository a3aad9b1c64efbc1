//go:build e2e && linux

package faults

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fleet/internal/atlas"
)

// finish ends the world as an operator does, and looks for what is left of it and told by it.
func (s *seedRun) finish() {
	w := s.world
	for _, r := range s.runs() {
		if !r.isKilled() {
			r.end()
		}
	}
	if w.ship != nil && w.ship.command != nil {
		if _, err := w.operator("down", "--sessions"); err != nil {
			w.problem("%v", err)
			w.ship.kill()
		}
		<-w.ship.over
	}
	if w.bridge != nil && w.bridge.command != nil {
		if err := w.bridge.end(); err != nil {
			w.problem("%v", err)
		}
	}
	if len(s.harnesses) > 0 {
		s.checkEvents()
	}
	for _, k := range w.links {
		k.close()
	}
	if w.gh != nil {
		w.gh.Close()
	}
	if w.dir == "" {
		return
	}
	w.checkProcesses()
	w.checkFiles()
	w.checkSecrets()
	w.unmount()
}

// checkProcesses looks for processes that have to do with this world's folder.
func (w *world) checkProcesses() {
	var left []string
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if left = w.processes(); len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	w.problem("left over, processes: %q", left)
}

func (w *world) processes() []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		cwd, _ := os.Readlink(filepath.Join(path, "cwd"))
		command, _ := os.ReadFile(filepath.Join(path, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(path, "environ"))
		if strings.HasPrefix(cwd, w.dir+"/") || bytes.Contains(command, []byte(w.dir+"/")) || bytes.Contains(env, []byte("="+w.dir+"/")) {
			found = append(found, filepath.Base(path)+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// expected are the files that stay, as paths below the world's folder.
const expected = `^(a/atlas\.json|a/\.ship/(lock|edit\.lock|last-bridge|tmux\.(conf|pid)|(events|calls)\.jsonl(\.[1-5])?)|a/widgets/w\d/\.git(/.*)?|b/(bridge\.db|audit\.jsonl)|h/\.gitconfig|k/.*)$`

// checkFiles looks for sockets and temporary files.
func (w *world) checkFiles() {
	stays := regexp.MustCompile(expected)
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		name := strings.TrimPrefix(path, w.dir+"/")
		if d.Type()&fs.ModeSocket != 0 && path == filepath.Join(w.atlas, ".ship", atlas.TmuxSocket) && !listens(path) {
			return nil // tmux leaves its socket's name behind, where nobody listens any more
		}
		if !stays.MatchString(name) || strings.HasSuffix(name, ".lock") && strings.Contains(name, "/.git/") {
			w.problem("left over, file: %s (%v)", name, d.Type())
		}
		return nil
	})
	if below, _ := filepath.Glob("/tmp/fleet-*/*"); len(below) > 0 {
		for _, path := range below {
			if named, _ := os.ReadFile(filepath.Join(w.atlas, ".ship", "sockets")); string(named) != "" {
				w.problem("left over, sockets' folder: %s", path)
			}
		}
	}
}

// listens says that somebody stays at socket. A process that ends loses its command line, by which
// it is found, a moment before its sockets.
func listens(socket string) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("unix", socket)
		if err != nil {
			return false
		}
		_ = c.Close()
	}
	return true
}

// checkSecrets searches all that was said and every file but the operators' own.
func (w *world) checkSecrets() {
	token := regexp.MustCompile(`fleet_[A-Za-z0-9_-]{43}`)
	look := func(where string, text []byte) {
		for secret, what := range w.secrets {
			if bytes.Contains(text, []byte(secret)) {
				w.problem("%s holds %s", where, what)
			}
		}
		if token.Match(text) {
			w.problem("%s holds something like a token", where)
		}
	}
	for _, said := range w.heard {
		look("what "+said.who+" said", []byte(said.String()))
	}
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(w.dir, "k")) {
			return nil
		}
		if text, err := os.ReadFile(path); err == nil {
			look(path, text)
		}
		return nil
	})
}

// keepWords leaves what the programs said with the other files.
func (w *world) keepWords(t *testing.T) {
	var all bytes.Buffer
	for _, said := range w.heard {
		all.WriteString("== " + said.who + "\n" + said.String() + "\n")
	}
	if err := os.WriteFile(filepath.Join(w.dir, "said"), all.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
}
