// Command print shows the tables of a run of the end-to-end tests from the file that they
// appended to, and exits with 1 when a row is absent or should not be there.
package main

import (
	"errors"
	"fmt"
	"os"

	"fleet/internal/e2e/table"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "print:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one argument, the file that " + table.Variable + " named")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	report, err := table.Read(f)
	if err != nil {
		return err
	}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	problems := report.Problems()
	for _, p := range problems {
		fmt.Println("!", p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems", len(problems))
	}
	return nil
}
