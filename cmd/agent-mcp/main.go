// Command agent-mcp is what a harness starts as its MCP server. It takes no configuration: where
// it was started says which workspace it serves.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"fleet/internal/adapter"
	"fleet/internal/build"
)

const usage = `agent-mcp is what a harness starts as its MCP server fleet-agent; it needs no configuration.

  agent-mcp            serve the workspace that it is started in, on standard input and output
  agent-mcp --check    say what it finds here and what the ship answers (counts as no client)
  agent-mcp --version
`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	config := adapter.Config{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: build.Version()}
	switch {
	case len(args) == 0:
	case len(args) == 1 && args[0] == "--check":
		return adapter.Check(config)
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		fmt.Print(usage)
		return 0
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("agent-mcp " + build.Version())
		return 0
	default:
		fmt.Fprintf(os.Stderr, "agent-mcp: it takes no arguments but --check, --version or --help, and was given %q\n", args)
		return 2
	}
	// A harness that closes its end of a pipe is a write error, not an end by a signal. All other
	// signals keep their default, an end at once: the kernel closes the connections, by which the
	// ship knows that nobody waits. To catch them would cost two threads and a quarter of the start.
	signal.Ignore(syscall.SIGPIPE)
	return adapter.Run(context.Background(), config)
}
