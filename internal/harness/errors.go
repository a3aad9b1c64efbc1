package harness

import "fmt"

// syntaxError says where a file is not what its harness documents.
type syntaxError struct {
	file string
	what string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s, %s; nothing was written; next: mend that, or paste what `ship harness print` shows", e.file, e.what)
}

// shape is a syntaxError for a value of another kind than the harness documents.
type shape struct{ syntaxError }

func (e *shape) Error() string { return e.syntaxError.Error() }
func (e *shape) Unwrap() error { return &e.syntaxError }
