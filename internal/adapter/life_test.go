package adapter_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fleet/internal/e2e/shipyard"
)

// slow answers id "slow" after a time, or when the request is cut off, and tells which.
type slow struct {
	after   time.Duration
	begun   chan struct{} // one for each slow request
	cutOff  atomic.Int32
	release chan struct{}
}

func newSlow(after time.Duration) *slow {
	return &slow{after: after, begun: make(chan struct{}, 2000), release: make(chan struct{})}
}

func (s *slow) reply(w http.ResponseWriter, r *http.Request, p posted) {
	if !strings.HasPrefix(p.id, `"slow`) {
		result(w, r, p)
		return
	}
	s.begun <- struct{}{}
	select {
	case <-r.Context().Done():
		s.cutOff.Add(1)
	case <-s.release:
		result(w, r, p)
	case <-time.After(s.after):
		result(w, r, p)
	}
}

func (s *slow) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-s.begun:
		case <-time.After(patience):
			t.Fatal("a request did not reach the far end")
		}
	}
}

func TestIdleInputEndsWithStatusZero(t *testing.T) { // idle-eof
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	if said := h.end(); said != "" {
		t.Errorf("standard error holds %q", said)
	}
	if len(f.posts()) != 0 {
		t.Error("the far end got a request without the harness")
	}
}

// TestWhatIsInFlightAtTheEndOfInputIsAnswered covers the lines with a newline and without.
func TestWhatIsInFlightAtTheEndOfInputIsAnswered(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"eof-inflight": "", "eof-inflight-nl": "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(300 * time.Millisecond)
			f := newFar(t, s.reply)
			h := newWorkspace(t, f.port()).start(t)
			h.send(call(`"slow"`) + end)
			h.in.Close()
			h.want(answered(`"slow"`))
			h.end()
		})
	}
}

func TestWhatIsStillInFlightAfterTheDrainIsCutOffWithAnError(t *testing.T) {
	t.Parallel()
	s := newSlow(time.Minute)
	f := newFar(t, s.reply)
	h := newWorkspace(t, f.port()).start(t)
	h.sendLine(call(`"slow"`))
	s.await(t, 1)
	h.in.Close()
	h.fault(`"slow"`, -32603, "ending")
	h.end()
	eventually(t, "the far end sees the request cut off", func() bool { return s.cutOff.Load() == 1 })
}

// TestSignalsEndItWithinASecond, with the input open and a call in flight.
func TestSignalsEndItWithinASecond(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newSlow(time.Minute)
			f := newFar(t, s.reply)
			h := newWorkspace(t, f.port()).start(t)
			h.sendLine(call(`"slow"`))
			s.await(t, 1)
			if err := h.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			select {
			case <-h.ended:
			case <-time.After(patience):
				t.Fatal("it lives on")
			}
			eventually(t, "the far end sees the request cut off", func() bool { return s.cutOff.Load() == 1 })
		})
	}
}

// TestItEndsWithTheProcessThatStartedIt although its input stays open in our hands.
func TestItEndsWithTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	w := newWorkspace(t, f.port())
	in, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	parent := exec.Command("sh", "-c", `"$0" <&3 & echo $!; wait`, program())
	parent.Dir, parent.Env, parent.ExtraFiles = w.dir(), append(w.env, shipyard.QuickEnd), []*os.File{in}
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	out.SetReadDeadline(time.Now().Add(patience))
	parent.Stdout = write
	err = parent.Start()
	in.Close()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	text, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	io.WriteString(held, call("1")+"\n")
	if line, err := lines.ReadString('\n'); line != answered("1")+"\n" {
		t.Fatalf("it answered %q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("the orphan did not end: %v", err)
	}
}

// TestAHarnessThatNoLongerReadsEndsIt: a write to a closed pipe is the end, and what is in
// flight is cut off.
func TestAHarnessThatNoLongerReadsEndsIt(t *testing.T) { // epipe
	t.Parallel()
	s := newSlow(time.Minute)
	f := newFar(t, s.reply)
	w := newWorkspace(t, f.port())
	cmd := exec.Command(program())
	cmd.Dir, cmd.Env = w.dir(), append(w.env, shipyard.QuickEnd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	out.Close()
	io.WriteString(in, call(`"slow"`)+"\n")
	s.await(t, 1)
	io.WriteString(in, call("1")+"\n"+call("2")+"\n")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("it ended with status %d (%v), want 1", code, err)
		}
	case <-time.After(patience):
		cmd.Process.Kill()
		t.Error("it lives on")
	}
	eventually(t, "the far end sees the request cut off", func() bool { return s.cutOff.Load() == 1 })
}

// TestARestartOfTheShipIsNotSeen makes calls before, while it is down and after, many times
// over, so that a call also meets a connection that has just died.
func TestARestartOfTheShipIsNotSeen(t *testing.T) { // restart
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	for i := range 20 {
		before, during := strconv.Itoa(3*i), strconv.Itoa(3*i+1)
		h.sendLine(call(before), call(strconv.Itoa(3*i+2))) // two, so that connections are kept
		h.line()
		h.line()
		f.restart(t, func() {
			h.sendLine(call(during))
			if i%5 == 0 {
				time.Sleep(50 * time.Millisecond) // long enough to be refused
			}
		})
		h.want(answered(during))
	}
	h.end()
	seen := map[string]int{}
	for _, p := range f.posts() {
		seen[p.id]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("the far end got id %s %d times", id, n)
		}
	}
}

// TestAShipThatIsDownAtTheStartIsWaitedForAShortWhile: initialize has its error before a harness
// gives up, and what comes later works.
func TestAShipThatIsDownAtTheStartIsWaitedForAShortWhile(t *testing.T) { // down-at-start
	t.Parallel()
	f := newFar(t, nil)
	h := newWorkspace(t, f.port()).start(t)
	f.restart(t, func() {
		h.sendLine(initialize("1"))
		h.fault("1", -32603, "ship up")
	})
	h.alive()
	h.end()
}

// TestACallIsNeverSentTwiceOnceItMayHaveArrived counts what a far end gets that breaks every
// connection at another point.
func TestACallIsNeverSentTwiceOnceItMayHaveArrived(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"reset-unanswered": "", "reset-midheader": "HTTP/1.1 200 OK\r\nConte", "reset-midbody": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			f := newFar(t, func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.id != "1" {
					result(w, r, p)
					return
				}
				count.Add(1)
				cutOff(raw)(w, r, p)
			})
			h := newWorkspace(t, f.port()).start(t)
			h.alive() // so that the connection is a kept one
			h.sendLine(call("1"))
			h.fault("1", -32603, "look before you repeat it")
			h.alive()
			h.end()
			if n := count.Load(); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
		})
	}
}

// TestAnAnswerThatComesBeforeTheBodyIsReadIsPassedOn is a server that refuses a long body early.
func TestAnAnswerThatComesBeforeTheBodyIsReadIsPassedOn(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	f.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1<<20 {
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			io.Copy(io.Discard, r.Body)
			status(413, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"larger than 1 MiB"}}`)(w, r, posted{})
			return
		}
		f.handle(w, r)
	})
	h := newWorkspace(t, f.port()).startPlain(t)
	for range 3 {
		h.alive()
		h.sendLine(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"t":"` + strings.Repeat("x", 3<<20) + `"}}`)
		h.fault("1", -32603, "larger than 1 MiB")
	}
	h.end()
}
