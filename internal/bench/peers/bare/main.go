// Command bare is a net/http handler without any checks. To a POST on /canned it answers with
// the bytes of the file that -answer names, whatever it was asked, which is as fast as an MCP
// server on net/http could ever be. Anywhere else it answers an MCP client's requests with
// canned results under their own ids: the far end of the adapters.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	answer := flag.String("answer", "", "file that holds the answer to a POST on /canned")
	flag.Parse()
	if err := run(*answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints the address that it serves as its one line of output.
func run(answer string) error {
	var canned []byte
	if answer != "" {
		var err error
		if canned, err = os.ReadFile(answer); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /canned", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		send(w, canned)
	})
	mux.Handle("POST /workspaces/", endpoint(tools(13)))
	return http.Serve(listener, mux)
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// endpoint answers like an MCP server with these tools, all of which give the same result.
func endpoint(toolList []byte) http.HandlerFunc {
	results := map[string][]byte{
		"initialize": []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}`),
		"tools/list": toolList,
		"tools/call": []byte(`{"content":[{"type":"text","text":"{\n  \"state\": \"building\",\n  \"description\": \"a sentence of the usual length\"\n}"}]}`),
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message struct {
			ID     json.RawMessage
			Method string
		}
		if err != nil || json.Unmarshal(body, &message) != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		if message.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		rest := []byte(`,"error":{"code":-32601,"message":"no such method"}}`)
		if result, ok := results[message.Method]; ok {
			rest = bytes.Join([][]byte{[]byte(`,"result":`), result, []byte("}")}, nil)
		}
		send(w, bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), message.ID, rest}, nil))
	}
}

// tools is the result of tools/list, about as long as the ship's.
func tools(n int) []byte {
	description := strings.Repeat("Says what it does, when to call it and what comes back. ", 6)
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"number":{"type":"integer"}}}}`, i, description)
	}
	return []byte(`{"tools":[` + strings.Join(list, ",") + `]}`)
}
