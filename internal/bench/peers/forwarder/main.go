// Command forwarder is the least that can stand between standard input and output and an MCP
// endpoint: it posts each line and prints each body. It looks at nothing, so it is what an
// adapter costs before it is worth anything.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

type forwarder struct {
	url, token string
	client     *http.Client
	mu         sync.Mutex // guards standard output
}

func main() {
	f := &forwarder{
		url: os.Getenv("FLEET_AGENT_MCP_URL"), token: os.Getenv("FLEET_AGENT_MCP_TOKEN"),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	var inFlight sync.WaitGroup
	lines := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			inFlight.Go(func() { f.forward(line) })
		}
		if err != nil {
			break
		}
	}
	inFlight.Wait()
}

func (f *forwarder) forward(line []byte) {
	body, err := f.post(line)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if len(body) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = os.Stdout.Write(append(body, '\n'))
}

func (f *forwarder) post(line []byte) ([]byte, error) {
	req, err := http.NewRequest(http.MethodPost, f.url, bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+f.token)
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
