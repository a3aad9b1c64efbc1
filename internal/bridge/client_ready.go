package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// readyTime bounds one look at a bridge, which a human or a monitor waits for.
	readyTime = 2 * time.Second
	// readyFor is how long a look counts: ship status -w asks every second.
	readyFor = 5 * time.Second
)

// Ready says what keeps the ship from its bridge, with what to do next, or nil: it has a credential
// to show, and a bridge answers GET /v1/healthz within two seconds. The credential is not sent, so
// that a bridge may still refuse it. An answer counts for five seconds. Safe for concurrent use.
func (c *Client) Ready(ctx context.Context) error {
	if _, err := c.credential(ctx); err != nil {
		return err
	}
	c.ready.mu.Lock()
	defer c.ready.mu.Unlock()
	if c.ready.looked.IsZero() || time.Since(c.ready.looked) >= readyFor {
		// One look is for all who ask, whoever of them goes.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		c.ready.found = c.look(ctx)
		c.ready.looked = time.Now()
	}
	return c.ready.found
}

func (c *Client) look(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.absent(errors.Unwrap(err)) // without the URL that net/http puts before it
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
	if resp.StatusCode != http.StatusOK {
		return c.absent(fmt.Errorf("HTTP status %d", resp.StatusCode))
	}
	c.absence.end()
	return nil
}

func (c *Client) absent(err error) error {
	return fmt.Errorf("no bridge answers at %s (%w), so repo_* tools are unavailable; next: start it, with ship bridge serve --config FILE", c.address, err)
}
