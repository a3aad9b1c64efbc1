package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"fleet/api"
)

const (
	// readyTime bounds one look at a bridge, which a human or a monitor waits for.
	readyTime = 2 * time.Second
	// readyFor is how long a look counts: ship status -w asks every second.
	readyFor = 5 * time.Second
)

// Ready says what keeps the ship from its bridge, with what to do next, or nil: it has a credential
// to show, and a bridge answers GET /v1/healthz within two seconds and knows the credential. What it
// may do, and on which repository, is not looked at. An answer counts for five seconds, or until the
// credential is another. Safe for concurrent use.
func (c *Client) Ready(ctx context.Context) error {
	ship, err := c.credential(ctx)
	if err != nil {
		return err
	}
	c.ready.mu.Lock()
	defer c.ready.mu.Unlock()
	if c.ready.looked.IsZero() || time.Since(c.ready.looked) >= readyFor || !c.ready.shown.Equal(ship) {
		// One look is for all who ask, whoever of them goes.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		c.ready.found = c.look(ctx, ship)
		c.ready.looked, c.ready.shown = time.Now(), ship
	}
	return c.ready.found
}

func (c *Client) look(ctx context.Context, ship Secret) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/healthz", nil)
	if err != nil {
		return err
	}
	// Revealed to the bridge that it was granted by. One of an earlier version does not look at it.
	req.Header.Set("Authorization", "Bearer "+ship.Reveal())
	resp, err := c.http.Do(req)
	if err != nil {
		return c.absent(errors.Unwrap(err)) // without the URL that net/http puts before it
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	var e *api.Error
	refused := errors.As(problemOf(resp, raw), &e) && e.Code == api.Unauthenticated && e.Reason == reasonShip
	if resp.StatusCode != http.StatusOK && !refused {
		return c.absent(fmt.Errorf("HTTP status %d", resp.StatusCode))
	}
	c.absence.end()
	if refused {
		return c.unknown()
	}
	return nil
}

func (c *Client) unknown() error {
	return fmt.Errorf("the bridge at %s does not know this ship's credential, which is wrong or was revoked, so repo_* tools are refused; next: as the bridge's own user, ship bridge grant SHIP --repo NAME --verbs read,comment,review --config FILE, and put the credential that it prints into %s", c.address, c.file)
}

func (c *Client) absent(err error) error {
	return fmt.Errorf("no bridge answers at %s (%w), so repo_* tools are unavailable; next: start it, with ship bridge serve --config FILE", c.address, err)
}
