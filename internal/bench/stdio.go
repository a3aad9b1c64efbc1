package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	listTools   = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}` + "\n"

	// answerTime bounds the wait for one answer, and with it every loop over answers.
	answerTime = 20 * time.Second
)

// harness plays a harness: it has an adapter running and talks to it over its standard input
// and output. Not for concurrent use.
type harness struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	errs  *bytes.Buffer
	timer *time.Timer // kills the adapter when an answer does not come
	next  int
}

// attach starts an adapter and gives the time from then until it has answered tools/list.
func (p program) attach(ctx context.Context) (*harness, time.Duration, error) {
	h := &harness{cmd: p.command(ctx), errs: &bytes.Buffer{}, next: 2}
	h.cmd.Stderr = h.errs
	h.cmd.WaitDelay = time.Second
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, 0, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	h.out = bufio.NewReaderSize(out, 64<<10)
	began := time.Now()
	if err := h.cmd.Start(); err != nil {
		return nil, 0, err
	}
	h.timer = time.AfterFunc(answerTime, func() { _ = h.cmd.Process.Kill() })
	err = h.ask(initialize)
	if err == nil {
		err = h.ask(initialized + listTools)
	}
	took := time.Since(began)
	if err != nil {
		h.end()
		return nil, 0, fmt.Errorf("%s: %w\n%s", p.argv, err, h.errs)
	}
	return h, took, nil
}

// ask writes one request, and what is to come before it, and reads one answer.
func (h *harness) ask(lines string) error {
	if _, err := io.WriteString(h.in, lines); err != nil {
		return err
	}
	return h.answer()
}

// answer reads one answer and sees that it is a result.
func (h *harness) answer() error {
	h.timer.Reset(answerTime)
	defer h.timer.Stop() // an adapter may be idle for as long as it likes
	for {
		line, err := h.out.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return errors.New("an answer is longer than any that was asked for")
		}
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		if !bytes.Contains(line, []byte(`"id"`)) {
			continue // a notification
		}
		if !bytes.Contains(line, []byte(`"result"`)) {
			return fmt.Errorf("no result: %s", line)
		}
		return nil
	}
}

func (h *harness) call() string {
	h.next++
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_1","arguments":{"number":7}}}`+"\n", h.next)
}

// sequential makes n calls one after the other and gives the time that each took.
func (h *harness) sequential(n int) ([]time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		if err := h.ask(h.call()); err != nil {
			return nil, err
		}
		times[i] = time.Since(began)
	}
	return times, nil
}

// inFlight makes n calls of which always width wait for their answer, and gives calls per second.
func (h *harness) inFlight(n, width int) (float64, error) {
	began := time.Now()
	for sent, got := 0, 0; got < n; {
		if sent < n && sent-got < width {
			if _, err := io.WriteString(h.in, h.call()); err != nil {
				return 0, err
			}
			sent++
			continue
		}
		if err := h.answer(); err != nil {
			return 0, err
		}
		got++
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// end closes the adapter's input and waits a second for it to end before it is killed. How it
// ends is another's test.
func (h *harness) end() {
	_ = h.in.Close()
	h.timer.Reset(time.Second)
	_ = h.cmd.Wait()
	h.timer.Stop()
}
