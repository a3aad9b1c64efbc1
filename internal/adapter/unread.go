package adapter

import (
	"errors"
	"net/http"
)

// unreadHeader marks the ship's answer to a request that it did not read, since it is ending.
const unreadHeader = "Fleet-Unread"

var errUnread = errors.New("the ship is ending or crowded and did not read the request")

// read makes a refusal that proves that nothing was done what it is, a ship that is away.
// RFC 9110 §15.5.9 lets a client repeat what is answered with 408; a tool's call is repeated only
// where the ship says that it is its own answer.
func read(resp *http.Response, err error) (*http.Response, error) {
	if err != nil || resp.StatusCode != http.StatusRequestTimeout || resp.Header.Get(unreadHeader) == "" {
		return resp, err
	}
	_ = resp.Body.Close()
	return nil, &unreachableError{errUnread}
}
