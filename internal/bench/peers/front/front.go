// Package front is what the peers that serve MCP have in common, so that they differ in their
// library alone: an answer from a file, a bearer token in front, and their address on standard
// output.
package front

import (
	"crypto/sha256"
	"crypto/subtle"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// Main serves what serve makes of the text that the one tool, agent_status_get, answers with. It
// returns only by ending the process.
func Main(serve func(text string) http.Handler) {
	text := flag.String("text", "", "file that holds the tool's answer")
	token := flag.String("token", "", "the bearer token that opens the server")
	flag.Parse()
	if err := run(*text, *token, serve); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints the address that it serves as its one line of output.
func run(path, token string, serve func(string) http.Handler) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	handler := bearer(token, serve(string(text)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, handler)
}

func bearer(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(shown))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
