package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
	"fleet/internal/e2e/talk"
)

// hungShip is a Client whose ship takes requests and answers none, in a bubble's time.
func hungShip(head string) *Client {
	c := NewClient("none")
	c.http.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			buf := make([]byte, 4<<10)
			if _, err := theirs.Read(buf); err == nil && head != "" {
				_, _ = theirs.Write([]byte(head))
			}
			for {
				if _, err := theirs.Read(buf); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}}
	return c
}

func TestAHungShipIsAnErrorThatSaysWhatToDo(t *testing.T) {
	calls := map[string]func(context.Context, *Client) error{
		"info":   func(ctx context.Context, c *Client) error { _, err := c.Info(ctx); return err },
		"call":   func(ctx context.Context, c *Client) error { _, err := c.Call(ctx, api.CallRequest{}); return err },
		"remove": func(ctx context.Context, c *Client) error { return c.Remove(ctx, api.RemoveRequest{}) },
	}
	for name, call := range calls {
		for where, head := range map[string]string{"before its answer": "", "in its answer": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"} {
			t.Run(name+" "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := hungShip(head)
					defer c.http.CloseIdleConnections()
					start := time.Now()
					err := call(t.Context(), c)
					var e *api.Error
					if !errors.As(err, &e) || e.Code != api.Unavailable || !strings.Contains(e.Text(), "did not answer to "+name) || !strings.Contains(e.Hint, "ship up") {
						t.Errorf("%v, want that the ship did not answer, and what to do", err)
					}
					if took := time.Since(start); took > 10*time.Minute || name == "info" && took > time.Minute || name == "call" && took < toolTimeout {
						t.Errorf("it took %s", took)
					}
				})
			})
		}
	}
}

func TestACallersOwnDeadlineIsItsOwnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hungShip("")
		defer c.http.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if _, err := c.Info(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("%v after %s, want the caller's deadline", err, time.Since(start))
		}
	})
}

// unfit is an answer that JSON has no place for.
type unfit struct{ At time.Time }

func TestAnAnswerThatCannotBeEncodedIsAnError(t *testing.T) {
	var log talk.Words
	o := &Operator{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	w := httptest.NewRecorder()
	method(o, func(context.Context, api.Empty) (unfit, error) {
		return unfit{time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
	})(
		w, httptest.NewRequest("POST", "/v1/info", strings.NewReader("{}")))
	var e api.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 500 || e.Code != api.Internal || e.Hint == "" {
		t.Errorf("%d %q, want 500 and an internal error", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "year") {
		t.Errorf("the log %q lacks the cause", log.String())
	}
}

func TestTheClientReadsAnErrorAsItWasMade(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	want := api.Error{Code: api.Conflict, Reason: "r", Message: "m", Hint: "h", RetryAfterSeconds: 5}
	o := &Operator{Logger: slog.New(slog.DiscardHandler)}
	h := &http.Server{Handler: method(o, func(context.Context, api.Empty) (api.Ship, error) { return api.Ship{}, &want })}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = h.Serve(l) }()
	defer func() { _ = h.Close(); <-ended }()
	_, err = NewClient(socket).Info(t.Context())
	var got *api.Error
	if !errors.As(err, &got) || *got != want {
		t.Errorf("%+v, want %+v", err, want)
	}
}

func TestProgressThatNeverEndsIsCut(t *testing.T) {
	var out bytes.Buffer
	steps := &stepWriter{encoder: json.NewEncoder(&out), flush: func() error { return nil }}
	for range 1000 {
		if n, err := io.WriteString(steps, strings.Repeat("A", 1000)); n != 1000 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	_, _ = io.WriteString(steps, "\rnext\n")
	var first, second api.CreateStep
	lines := json.NewDecoder(&out)
	if err := errors.Join(lines.Decode(&first), lines.Decode(&second)); err != nil {
		t.Fatal(err)
	}
	if len(first.Progress) == 0 || len(first.Progress) > maxProgress+1000 || second.Progress != "next" {
		t.Errorf("a line of a million bytes came as %d, and the next as %q", len(first.Progress), second.Progress)
	}
}
