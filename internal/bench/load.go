package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// clients is a closed loop: each of its connections has one request under way at any time. It
// costs little itself, since it shares the processors with the server that it measures.
type clients struct {
	request []byte
	conns   []*bufio.ReadWriter
	closers []io.Closer
}

// post writes out a request as these clients send it.
func post(address, path, token, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"+
		"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, address, token, len(body), body)
}

// dial opens n connections for a request.
func dial(ctx context.Context, address string, request []byte, n int) (*clients, error) {
	c := &clients{request: request}
	for range n {
		conn, err := (&net.Dialer{Timeout: startTime}).DialContext(ctx, "tcp", address)
		if err != nil {
			c.close()
			return nil, err
		}
		c.conns = append(c.conns, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
		c.closers = append(c.closers, conn)
		if err := conn.SetDeadline(time.Now().Add(longest)); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *clients) close() {
	for _, conn := range c.closers {
		_ = conn.Close()
	}
}

// run calls for d on all connections, and gives how many calls were made in what time.
func (c *clients) run(d time.Duration) (calls int, took time.Duration, err error) {
	began := time.Now()
	counts := make([]int, len(c.conns))
	failures := make([]error, len(c.conns))
	var all sync.WaitGroup
	for i, conn := range c.conns {
		all.Go(func() {
			for failures[i] == nil && time.Since(began) < d {
				_, failures[i] = c.call(conn)
				counts[i]++
			}
		})
	}
	all.Wait()
	took = time.Since(began)
	for _, n := range counts {
		calls += n
	}
	return calls, took, errors.Join(failures...)
}

// call makes one call and gives the body of its answer, which must be a tool's good result.
func (c *clients) call(conn *bufio.ReadWriter) ([]byte, error) {
	if _, err := conn.Write(c.request); err != nil {
		return nil, err
	}
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(conn.Reader, nil)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"content"`)) || bytes.Contains(body, []byte(`"isError":true`)) {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return body, nil
}
