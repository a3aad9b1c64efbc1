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
	"strings"
	"sync"
	"time"
)

// request is the one that a client makes again and again.
type request struct {
	address, path, token string
	body                 string
}

func (r request) headers() [][2]string {
	return [][2]string{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"MCP-Protocol-Version", "2025-11-25"},
		{"Authorization", "Bearer " + r.token},
	}
}

// clients are a closed loop: each has one connection, and one request under way at any time.
// They share the processors with the server that they measure, so what they cost themselves
// dilutes the difference between two servers.
type clients struct {
	calls []func() ([]byte, error) // one of each client
	close func()
}

// usualClients are net/http's, which agent-mcp and many harnesses use.
func usualClients(r request, n int) *clients {
	transport := &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: startTime}
	c := &clients{close: transport.CloseIdleConnections}
	for range n {
		c.calls = append(c.calls, func() ([]byte, error) {
			req, err := http.NewRequest(http.MethodPost, "http://"+r.address+r.path, strings.NewReader(r.body))
			if err != nil {
				return nil, err
			}
			for _, h := range r.headers() {
				req.Header.Set(h[0], h[1])
			}
			return result(client.Do(req))
		})
	}
	return c
}

// leanClients write the same bytes each time and cost half of the usual ones.
func leanClients(ctx context.Context, r request, n int) (*clients, error) {
	head := "POST " + r.path + " HTTP/1.1\r\nHost: " + r.address + "\r\n"
	for _, h := range r.headers() {
		head += h[0] + ": " + h[1] + "\r\n"
	}
	whole := fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", head, len(r.body), r.body)
	var conns []net.Conn
	c := &clients{close: func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}}
	for range n {
		conn, err := (&net.Dialer{Timeout: startTime}).DialContext(ctx, "tcp", r.address)
		if err != nil {
			c.close()
			return nil, err
		}
		conns = append(conns, conn)
		if err := conn.SetDeadline(time.Now().Add(longest)); err != nil {
			c.close()
			return nil, err
		}
		reader := bufio.NewReader(conn)
		c.calls = append(c.calls, func() ([]byte, error) {
			if _, err := conn.Write(whole); err != nil {
				return nil, err
			}
			return result(http.ReadResponse(reader, nil))
		})
	}
	return c, nil
}

// result reads an answer, which must be a tool's good result.
func result(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"content"`)) || bytes.Contains(body, []byte(`"isError":true`)) {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return body, nil
}

// run has all clients call for d, and gives how many calls were made in what time.
func (c *clients) run(d time.Duration) (calls int, took time.Duration, err error) {
	began := time.Now()
	counts := make([]int, len(c.calls))
	failures := make([]error, len(c.calls))
	var all sync.WaitGroup
	for i, call := range c.calls {
		all.Go(func() {
			for time.Since(began) < d {
				if _, failures[i] = call(); failures[i] != nil {
					return
				}
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
