package adapter_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleet/internal/adapter"
	"fleet/internal/atlas"
)

// inside runs an adapter in this process, for what would take too long with the program's own
// limits: it gives what to write lines to and what to read them from.
func inside(t *testing.T, w *workspace, port int, change func(*adapter.Config)) (io.Writer, *bufio.Reader) {
	t.Helper()
	in, input := io.Pipe()
	output, out := io.Pipe()
	c := adapter.Config{
		In: in, Out: out, Err: io.Discard, StartPatience: 100 * time.Millisecond, Patience: patience,
		Locate: func() (atlas.Place, error) { return atlas.Place{Root: w.root, Port: port, ID: w.id}, nil },
		LookupEnv: func(name string) (string, bool) {
			switch name {
			case "FLEET_AGENT_MCP_TOKEN":
				return w.token(), true
			case "FLEET_AGENT_MCP_URL":
				return w.url(port), true
			}
			return "", false
		},
	}
	change(&c)
	ended := make(chan int, 1)
	go func() {
		ended <- adapter.Run(t.Context(), c)
		out.Close()
	}()
	t.Cleanup(func() {
		input.Close()
		go io.Copy(io.Discard, output)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Run did not return")
		}
	})
	return input, bufio.NewReader(output)
}

func ask(t *testing.T, in io.Writer, out *bufio.Reader, line string) string {
	t.Helper()
	if _, err := io.WriteString(in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	got, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestACallThatGetsNoAnswerInTimeIsCutOff, whether the server is silent or streams without end.
func TestACallThatGetsNoAnswerInTimeIsCutOff(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(http.ResponseWriter, *http.Request, posted){
		"silent": func(_ http.ResponseWriter, r *http.Request, _ posted) { <-r.Context().Done() },
		"half an answer": func(w http.ResponseWriter, r *http.Request, _ posted) {
			io.WriteString(w, `{"jsonrpc":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"comments for ever": func(w http.ResponseWriter, r *http.Request, _ posted) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				io.WriteString(w, ": ping\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, reply)
			in, out := inside(t, newWorkspace(t, f.port()), f.port(), func(c *adapter.Config) { c.AnswerTimeout = 200 * time.Millisecond })
			got := ask(t, in, out, call("1"))
			if !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "no answer within 200ms") {
				t.Errorf("it was answered with %s", got)
			}
		})
	}
}

// TestAShipThatStaysAwayIsReported when the patience for the method has come to its end.
func TestAShipThatStaysAwayIsReported(t *testing.T) {
	t.Parallel()
	in, out := inside(t, newWorkspace(t, 1), 1, func(c *adapter.Config) { c.Patience = 1500 * time.Millisecond })
	began := time.Now()
	for _, line := range []string{initialize("1"), strings.Replace(call("2"), "tools/call", "server/discover", 1)} {
		if got := ask(t, in, out, line); !strings.Contains(got, "ship up") {
			t.Errorf("it was answered with %s", got)
		}
	}
	short := time.Since(began)
	if got := ask(t, in, out, call("3")); !strings.Contains(got, "ship up") {
		t.Errorf("it was answered with %s", got)
	}
	if long := time.Since(began) - short; long < short {
		t.Errorf("a call was waited for %v, less than initialize and discover together, %v", long, short)
	}
}

// TestAnOpeningFindsAShipThatMovedWithoutPatience: what the ship tells its sessions is read, and
// the new port tried, though nothing is waited for.
func TestAnOpeningFindsAShipThatMovedWithoutPatience(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	w := newWorkspace(t, 1)
	if _, err := atlas.MakeSockets(w.root); err != nil {
		t.Fatal(err)
	}
	var port atomic.Int64
	port.Store(1)
	in, out := inside(t, w, 1, func(c *adapter.Config) {
		c.StartPatience = -1
		c.Locate = func() (atlas.Place, error) { return atlas.Place{Root: w.root, Port: int(port.Load()), ID: w.id}, nil }
		c.SessionEnv = func(context.Context, string, string, ...string) (map[string]string, error) {
			return map[string]string{"FLEET_AGENT_MCP_TOKEN": w.token(), "FLEET_AGENT_MCP_URL": w.url(f.port())}, nil
		}
	})
	if got := ask(t, in, out, initialize("1")); !strings.Contains(got, "ship up") {
		t.Errorf("without a ship it was answered with %s", got)
	}
	port.Store(int64(f.port()))
	if got := ask(t, in, out, initialize("2")); !strings.Contains(got, "serverInfo") {
		t.Errorf("with a ship elsewhere it was answered with %s", got)
	}
}

// TestASessionThatCannotBeReadIsReadAgain with the next call, and once for all that wait.
func TestASessionThatCannotBeReadIsReadAgain(t *testing.T) {
	t.Parallel()
	f := newFar(t, nil)
	w := newWorkspace(t, f.port())
	f.reply = newGuarded(w.token()).reply
	if _, err := atlas.MakeSockets(w.root); err != nil {
		t.Fatal(err)
	}
	reads := make(chan struct{}, 100)
	broken := true
	in, out := inside(t, w, f.port(), func(c *adapter.Config) {
		c.LookupEnv = func(string) (string, bool) { return "", false }
		c.SessionEnv = func(ctx context.Context, socket, session string, names ...string) (map[string]string, error) {
			if len(reads) >= 2 {
				broken = false
			}
			reads <- struct{}{}
			if broken {
				return nil, errors.New("tmux does not answer")
			}
			return map[string]string{"FLEET_AGENT_MCP_TOKEN": w.token(), "FLEET_AGENT_MCP_URL": w.url(f.port())}, nil
		}
	})
	if got := ask(t, in, out, call("1")); !strings.Contains(got, "not active") {
		t.Errorf("it was answered with %s", got)
	}
	for _, id := range []string{"2", "3", "4"} {
		if got := ask(t, in, out, call(id)); got != answered(id)+"\n" {
			t.Errorf("it was answered with %s", got)
		}
	}
	if n := len(reads); n != 3 {
		t.Errorf("the session was read %d times, want 3: at the start, after the first 401, after the second", n)
	}
}

// TestRunEndsWithItsContextAndWithItsParent, the input being open.
func TestRunEndsWithItsContextAndWithItsParent(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, 1)
	for name, run := range map[string]func(adapter.Config) int{
		"context": func(c adapter.Config) int {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return adapter.Run(ctx, c)
		},
		"parent": func(c adapter.Config) int {
			next := 0
			c.Parent = func() int { next++; return next }
			return adapter.Run(t.Context(), c)
		},
	} {
		in, input := io.Pipe()
		defer input.Close()
		c := adapter.Config{In: in, Out: io.Discard, Err: io.Discard, Locate: func() (atlas.Place, error) {
			return atlas.Place{Root: w.root, Port: 1, ID: w.id}, nil
		}}
		if code := run(c); code != 0 {
			t.Errorf("%s: Run gave %d", name, code)
		}
	}
}
