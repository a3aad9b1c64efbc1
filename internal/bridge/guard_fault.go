package bridge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"fleet/api"
)

// fault is the cause of a broken exchange in words of our own: net/http's errors may quote what the
// other side sent, and addresses that are secrets.
type fault struct {
	text string
	is   error // nil, or one that holds no text of others
}

func (f fault) Error() string { return f.text }
func (f fault) Unwrap() error { return f.is }

// causeOf puts err in our own words.
func causeOf(err error) fault {
	var (
		dns       *net.DNSError
		errno     syscall.Errno
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		timed     net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return fault{"cancelled", context.Canceled}
	case errors.Is(err, context.DeadlineExceeded):
		return fault{"deadline exceeded", context.DeadlineExceeded}
	case errors.Is(err, errAddress):
		return fault{errAddress.Error(), errAddress}
	case errors.As(err, &dns) && dns.IsNotFound:
		return fault{"no such host", nil}
	case errors.As(err, &dns):
		return fault{"the host's name could not be looked up", nil}
	case errors.As(err, &authority):
		return fault{"its certificate is signed by an unknown authority", nil}
	case errors.As(err, &name):
		return fault{"its certificate is for another host", nil}
	case errors.As(err, &invalid):
		return fault{"its certificate is not valid", nil}
	case errors.As(err, &record), errors.As(err, &alert):
		return fault{"no TLS connection could be made", nil}
	case errors.As(err, &errno):
		return fault{errno.Error(), errno}
	case errors.As(err, &timed) && timed.Timeout():
		return fault{"deadline exceeded", context.DeadlineExceeded}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fault{"the connection was closed too early", io.ErrUnexpectedEOF}
	default:
		return fault{"the connection broke", nil}
	}
}

// transportFault is the error of an exchange without a whole answer. sent says that the request may
// have reached the forge: then a write may have been done.
func transportFault(write, sent bool, err error) *api.Error {
	var known *api.Error
	if errors.As(err, &known) {
		return known
	}
	cause := causeOf(err)
	switch {
	case write && sent:
		return &api.Error{
			Code: api.OutcomeUnknown, Reason: "connection_broken",
			Message: "the connection to the forge broke after the request was sent: it may have been done",
			Hint:    "look at the issue or pull request before you try again", Err: cause,
		}
	case errors.Is(cause, context.Canceled):
		return &api.Error{Code: api.Unavailable, Reason: "cancelled", Message: "the request was given up", Err: cause}
	case errors.Is(cause, context.DeadlineExceeded):
		return &api.Error{
			Code: api.Unavailable, Reason: "timeout", Message: "the forge did not answer in time",
			Hint: "try again in a minute", Err: cause,
		}
	case sent:
		return &api.Error{
			Code: api.Unavailable, Reason: "connection_broken", Message: "the connection to the forge broke",
			Hint: "try again", Err: cause,
		}
	default:
		return &api.Error{
			Code: api.Unavailable, Reason: "unreachable", Message: "the forge cannot be reached; nothing was sent",
			Hint: "try again in a minute", Err: cause,
		}
	}
}

// AsError takes the *api.Error out of what a client over a Guard returned, and makes one of an
// error that has none, such as an answer that is no JSON. ctx is the request's: where WithWrite
// marked it, and the write may have been done, the error is OutcomeUnknown, whatever the client made
// of it (go-github returns ctx.Err() in its place).
func AsError(ctx context.Context, err error) *api.Error {
	if err == nil {
		return nil
	}
	if unclear(ctx) {
		return transportFault(true, true, causeOf(err))
	}
	var known *api.Error
	if errors.As(err, &known) {
		return known
	}
	if cause := causeOf(err); errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return transportFault(false, true, cause)
	}
	return &api.Error{
		Code: api.Unavailable, Reason: "bad_answer", Message: "the forge's answer could not be understood",
		Hint: "try again in a minute", Err: causeOf(err),
	}
}
