package bridgetest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// onWire takes the connection over, so that a rule decides about each byte of the answer, and ends
// it.
func onWire(w http.ResponseWriter, do func(net.Conn)) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	do(conn)
	_ = conn.Close()
}

// reset makes the connection end with a reset.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// wait says whether it could.
func wait(d time.Duration, end <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	}
}

// unwire takes an answer apart again.
func unwire(answer []byte) (int, http.Header, []byte) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return http.StatusInternalServerError, http.Header{}, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body) // out of memory
	resp.Header.Del("Content-Length")
	return resp.StatusCode, resp.Header, body
}
