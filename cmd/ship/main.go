// Command ship is the daemon of one atlas and its operator commands. It is the only place where
// the server and the bridge meet.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fleet/api"
)

// The exit statuses that scripts rely on.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin}
	a.stdout, a.stderr = &screen{w: stdout, json: &a.json, exact: true}, &screen{w: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var failed *failure
	if errors.As(err, &failed) {
		if failed.err != nil {
			fmt.Fprintln(a.stderr, "ship: "+a.placed(oneLine(failed.err)))
		}
		return exitFailed
	}
	if cmd.Name() == "help" && cmd.HasParent() { // what it says of itself lists no commands
		cmd = cmd.Parent()
	}
	fmt.Fprintf(a.stderr, "ship: %s; see: %s --help\n", clean(err.Error()), cmd.CommandPath())
	return exitUsage
}

// failure marks an error of the work, as against one of the usage. A nil err prints nothing:
// the command has said it.
type failure struct{ err error }

func (f *failure) Error() string { return fmt.Sprint(f.err) }
func (f *failure) Unwrap() error { return f.err }

// usage is an error of the command line.
func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// unknown says that there is no such command, and which one may have been meant.
func unknown(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	text := fmt.Sprintf("unknown command %q for %q", word, cmd.CommandPath())
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("%s", text)
}

type usageError struct{ text string }

func (u *usageError) Error() string { return u.text }

// works wraps a command's function, so that what it returns counts as failed work, and only a
// usage error as wrong usage.
func works(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd, args)
		var u *usageError
		var failed *failure
		if err == nil || errors.As(err, &u) || errors.As(err, &failed) {
			return err
		}
		return &failure{err}
	}
}

// oneLine says what happened and what to do next, in one line and without the terminal's
// control characters. Errors that were joined stand one after the other.
func oneLine(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []string
		for _, part := range joined.Unwrap() {
			parts = append(parts, oneLine(part))
		}
		if err.Error() == errors.Join(joined.Unwrap()...).Error() {
			return strings.Join(parts, "; and ")
		}
	}
	text := err.Error()
	var e *api.Error
	if errors.As(err, &e) {
		said := e.Message
		if e.Hint != "" {
			said += "; next: " + e.Hint
		}
		text = strings.Replace(text, e.Error(), said, 1)
	}
	return clean(unbroken(text))
}

// unbroken puts one blank in the place of what parts lines and columns and of the blanks around it.
// Other blanks stay as they are: some are of a name.
func unbroken(text string) string {
	var parts []string
	for part := range strings.FieldsFuncSeq(strings.TrimSpace(text), isBreak) {
		if part = strings.Trim(part, " "); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

func isBreak(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// hint adds to err what to do next.
func hint(err error, next string) error {
	return fmt.Errorf("%w; next: %s", err, next)
}
