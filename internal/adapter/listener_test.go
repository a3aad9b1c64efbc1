package adapter_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestAListenerOfAnotherUserGetsNothing: whoever took the port first must not be handed the
// token. It needs root, to have another user.
func TestAListenerOfAnotherUserGetsNothing(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	for name, address := range map[string]string{"loopback": "127.0.0.1:0", "every address": ":0", "every IPv4 address": "0.0.0.0:0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stranger := startStranger(t, address)
			w := newWorkspace(t, stranger.port)
			h := w.start(t)
			h.sendLine(call("1"))
			h.fault("1", -32603, "belongs to user 65534")
			h.end()
			if got := stranger.stop(); got != 0 {
				t.Errorf("the other user's listener read %d bytes", got)
			}
		})
	}
}

type stranger struct {
	port int
	in   io.Closer
	out  *bufio.Reader
	t    *testing.T
}

// startStranger runs this test's own program as the user 65534, listening on address.
func startStranger(t *testing.T, address string) *stranger {
	t.Helper()
	dir, err := os.MkdirTemp("", "other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// The other user can neither enter the folder that go test built in nor t.TempDir. A program that
	// this process itself had written could still be open in a child that has just been forked, and
	// could not be executed ("text file busy").
	copied := filepath.Join(dir, "listen")
	if out, err := exec.Command("cp", os.Args[0], copied).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(copied)
	c.Dir, c.Env, c.Stderr = "/", []string{"ADAPTER_TEST_LISTEN=" + address}, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Process.Kill()
		c.Wait()
	})
	s := &stranger{in: in, out: bufio.NewReader(out), t: t}
	s.port = s.number()
	return s
}

func (s *stranger) number() int {
	s.t.Helper()
	var n int
	if _, err := fmt.Fscanln(s.out, &n); err != nil {
		s.t.Fatalf("the other user's listener: %v", err)
	}
	return n
}

// stop ends the listener and gives how many bytes it read.
func (s *stranger) stop() int {
	s.in.Close()
	return s.number()
}

// listenAsAnotherUser prints its port, reads what comes until its input ends, and prints how
// many bytes that was.
func listenAsAnotherUser(address string) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var read atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				n, _ := io.Copy(io.Discard, c)
				read.Add(n)
			}()
		}
	}()
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
	time.Sleep(20 * time.Millisecond) // for what is under way
	fmt.Println(read.Load())
	return 0
}

// TestIPv6IsDialledWhereIPv4Refuses.
func TestIPv6IsDialledWhereIPv4Refuses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 on this machine: %v", err)
	}
	f := &far{listener: l, reply: result}
	f.serve()
	t.Cleanup(f.close)
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(call("1"))
	h.want(answered("1"))
	h.end()
	if host := f.posts()[0].host; !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("the Host is %q", host)
	}
}
