package promises_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"fleet/internal/e2e/shipyard"
	"fleet/internal/e2e/talk"
)

// impostor listens where a token might be sent to, and keeps every byte.
type impostor struct {
	listener net.Listener
	port     int
	heard    *talk.Words
}

func listen(t *testing.T, port int) *impostor {
	t.Helper()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	return pose(t, l)
}

func pose(t *testing.T, l net.Listener) *impostor {
	i := &impostor{listener: l, port: l.Addr().(*net.TCPAddr).Port, heard: &talk.Words{}}
	t.Cleanup(func() { _ = l.Close() })
	go i.accept()
	return i
}

func (i *impostor) accept() {
	for {
		conn, err := i.listener.Accept()
		if err != nil {
			return
		}
		go i.answer(conn)
	}
}

// answer reads one request and gives the answer of a ship.
func (i *impostor) answer(conn net.Conn) {
	defer conn.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := conn.Read(chunk)
		_, _ = i.heard.Write(chunk[:n])
		if err != nil {
			return
		}
		body := `{"jsonrpc":"2.0","id":"open","result":{"impostor":true}}`
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
}

// hostileRepository makes the repository "h", whose commits hold an atlas of somebody else's making.
func hostileRepository(t *testing.T, f *fleet, port int) {
	t.Helper()
	f.shell(t, f.dir, fmt.Sprintf(`
		mkdir -p src/h/sub/h/one src/h/h/one src/h/.ship && cd src/h && git init -q -b main .
		printf '{"fleet":1,"port":%d,"repos":{}}\n' >atlas.json
		cp atlas.json sub/atlas.json
		chmod 600 atlas.json */atlas.json
		echo x >sub/h/one/file; echo x >h/one/file; echo '%s' >.ship/sockets
		git add -f . && git commit -q -m hostile`, port, filepath.Join(f.root, ".ship")))
	f.must(t, "repo", "add", "h", filepath.Join(f.dir, "src", "h"))
	f.must(t, "create", "h/one")
	f.must(t, "activate", "h/one", "--", "sleep", "1000")
	// Git keeps no such modes, but an agent can set them.
	f.shell(t, filepath.Join(f.root, "h", "one"), "chmod 700 .ship; find . -name atlas.json -exec chmod 600 {} +")
}

// insideEnvs are environments of a harness in h/one.
func insideEnvs(t *testing.T, f *fleet) map[string][]string {
	t.Helper()
	full := scrubbed(f)
	for line := range strings.Lines(f.tmux(t, "show-environment", "-t", sessionOf(t, "h", "one"))) {
		full = append(full, strings.TrimSuffix(line, "\n"))
	}
	return map[string][]string{"full": full, "scrubbed": scrubbed(f)}
}

// TestAnAtlasInARepositoryGetsNoToken starts adapters all over a checkout whose commits hold an
// atlas.json with the port of a listener, with the checkout's .git and, as an agent can have it,
// without, and with one where the hostile atlas would have a workspace of the same name.
func TestAnAtlasInARepositoryGetsNoToken(t *testing.T) {
	t.Parallel()
	f := serving(t)
	l := listen(t, 0)
	hostileRepository(t, f, l.port)
	dirs := []string{".", "sub", "sub/h", "sub/h/one", "h", "h/one"}
	work := filepath.Join(f.root, "h", "one")
	envs := insideEnvs(t, f)
	try := func(what string, reaches func(dir string) bool) {
		for _, dir := range dirs {
			for whose, env := range envs {
				a := startAdapter(t, filepath.Join(work, dir), env)
				a.send(t, call("1", "agent_init", `{"model":"m","provider":"p","harness":"h"}`))
				m := a.answer(t)
				if served := m.Error == nil; served != reaches(dir) {
					t.Errorf("%s: agent_init in %s with the %s environment = %s, served %t, want %t", what, dir, whose, m.raw, served, reaches(dir))
				}
				a.end(t)
			}
		}
	}
	try("a whole checkout", func(string) bool { return true })
	f.shell(t, work, `mv .git ../../away; mkdir sub/h/one/.git h/one/.git`)
	try("without .git", func(string) bool { return false })
	f.shell(t, work, `mv ../../away .git`)
	try("with checkouts inside", func(string) bool { return true })
	checkUnheard(t, l)
}

func checkUnheard(t *testing.T, l *impostor) {
	t.Helper()
	if strings.Contains(l.heard.String(), "fleet_") {
		t.Errorf("the listener got a token: %q", l.heard)
	}
	// What it would have heard.
	conn, err := net.Dial("tcp4", l.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "control")
	if !shipyard.Poll(func() bool { return strings.Contains(l.heard.String(), "control") }) {
		t.Fatal("the listener hears nothing")
	}
}
