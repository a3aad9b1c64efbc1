//go:build !linux

package server

import "errors"

// refuseHandshakes is not to be had here.
func refuseHandshakes(int) error { return errors.ErrUnsupported }
