// Command bench measures Fleet's programs beside their peers and prints ratios next to what they
// must reach. It builds everything itself, starts everything on loopback and in a temporary
// folder, and ends all that it started:
//
//	go -C internal/bench run . [-short] [-markdown] [-only adapter,ship,heap,sessions]
//
// With -markdown it prints what README shows between its "bench" marks.
//
// Programs that are compared run in turns, round by round, so that a busy machine weighs on all
// of them alike: the ratios are worth something, the milliseconds much less. It needs Linux,
// tmux and git, and for the peers from npm node and npm, without which their rows stay empty.
// The exit status is 1 where a target was not met or something could not be measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// longest bounds a run as a whole; a full one takes about three minutes.
const longest = 15 * time.Minute

// bench is what the parts share.
type bench struct {
	dir      string // everything that is made lies in here
	bin      string // the built programs
	here     string // this module's folder
	short    bool
	progress io.Writer
}

// measurement is one part of the table. blank are its rows without values.
type measurement struct {
	name, title string
	measure     func(context.Context, *bench) ([]row, error)
	blank       func() []row
}

func measurements() []measurement {
	return []measurement{
		{"adapter", "agent-mcp, beside a forwarder without any checks", measureAdapter, func() []row { return adapterRows(nil, 0) }},
		{"ship", "ship: agent_status_get over kept-alive connections", measureShip, func() []row {
			none := &contender{}
			return shipRows(none, none, none, none)
		}},
		{"heap", "ship: memory", measureHeap, func() []row { return heapRows(nil) }},
		{"sessions", "ship: sessions", measureSessions, func() []row {
			return append(append(activateRows(nil, nil), adoptRows(nil, nil)...), idleRow(nil, ""))
		}},
	}
}

func main() {
	short := flag.Bool("short", false, "few rounds: a look in a minute, not a measurement")
	only := flag.String("only", "", "the parts to measure, of adapter, ship, heap and sessions, with commas between (default: all)")
	asMarkdown := flag.Bool("markdown", false, "print the table as README shows it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	t, err := run(ctx, *short, *only)
	if t != nil {
		print := t.print
		if *asMarkdown {
			print = t.markdown
		}
		_ = print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if n := t.missed(); n > 0 {
		fmt.Fprintf(os.Stderr, "\n%d targets were not met or not measured.\n", n)
		os.Exit(1)
	}
}

// run measures the chosen parts. A part that fails leaves those before it in the table.
func run(ctx context.Context, short bool, only string) (*table, error) {
	chosen, err := choose(only)
	if err != nil {
		return nil, err
	}
	b := &bench{short: short, progress: os.Stderr}
	// The sockets of a ship need a short path, so this is not below the module.
	if b.dir, err = os.MkdirTemp("", "fb"); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil {
		return nil, err
	}
	if b.here, err = os.Getwd(); err != nil {
		return nil, err
	}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	before := load()
	t := &table{}
	for _, m := range chosen {
		b.say("measuring: %s", m.title)
		rows, failed := m.measure(ctx, b)
		t.add(m.title, rows...)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", m.name, failed))
		}
	}
	t.machine = fmt.Sprintf("%s; load %s at the start, %s at the end", b.machine(ctx), before, load())
	return t, err
}

func choose(only string) ([]measurement, error) {
	all := measurements()
	if only == "" {
		return all, nil
	}
	var chosen []measurement
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(m measurement) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no part %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// rounds gives full, or where a look is enough a fourth of it, and at least 2.
func (b *bench) rounds(full int) int {
	if b.short {
		return max(2, full/4)
	}
	return full
}
