package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/term"

	"fleet/api"
)

const watchPeriod = time.Second

// watchStatus shows the status anew each second on a terminal, where ages grow, and elsewhere
// whenever it has changed. A ship that is away is said to be, and waited for.
func (a *app) watchStatus(ctx context.Context, only *api.WorkspaceName) error {
	var last []byte
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for first := true; ; first = false {
		ship, all, err := a.status(ctx, only)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case a.json:
			last, err = a.watchJSON(statusOf(ship, all), err, last)
		default:
			last, err = a.watchText(ship, all, err, only != nil, last)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *app) watchJSON(all status, asked error, last []byte) ([]byte, error) {
	if asked != nil {
		return last, nil // the next value will tell
	}
	raw, err := json.Marshal(all)
	if err != nil || bytes.Equal(raw, last) {
		return last, err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", raw)
	return raw, err
}

func (a *app) watchText(ship api.Ship, all api.Workspaces, asked error, detailed bool, last []byte) ([]byte, error) {
	var text bytes.Buffer
	if asked != nil {
		fmt.Fprintln(&text, "! "+oneLine(asked))
	} else {
		for _, line := range brokenToolsets(ship) {
			fmt.Fprintln(&text, colour(a.stdout, broken, line))
		}
		printStatus(&text, a.stdout, ship, all.Workspaces, detailed)
	}
	if !isTerminal(a.stdout) {
		if bytes.Equal(text.Bytes(), last) {
			return last, nil
		}
		_, err := a.stdout.Write(text.Bytes())
		return text.Bytes(), err
	}
	return nil, drive(a.stdout, clearScreen, fit(text.String(), a.stdout))
}

// fit cuts text to the terminal, so that its first lines, those who wait, never scroll away.
func fit(text string, w io.Writer) string {
	f := terminalOf(w)
	if f == nil {
		return text
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 || height < 2 {
		return text
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if over := len(lines) - (height - 1); over > 0 {
		lines = append(lines[:height-2], fmt.Sprintf("… %d more", over+1))
	}
	for i, line := range lines {
		lines[i] = cutVisible(line, width)
	}
	return strings.Join(lines, "\n")
}

// cutVisible cuts a line to width columns, of which colours take none.
func cutVisible(line string, width int) string {
	var out strings.Builder
	shown, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			if shown += runeWidth(r); shown > width {
				continue
			}
		}
		out.WriteRune(r)
	}
	return out.String()
}
