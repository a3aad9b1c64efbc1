package main

import (
	"context"
	"fmt"
	"time"
)

const (
	upForActivate = 50
	upForIdle     = 60
	upForAdopt    = 200
)

// measureSessions has one atlas with more and more active workspaces.
func measureSessions(ctx context.Context, b *bench) ([]row, error) {
	f, err := b.newFleet(ctx, "t")
	if err != nil {
		return nil, err
	}
	defer f.close()
	if err := f.makeWorkspaces(ctx, upForAdopt); err != nil {
		return nil, err
	}
	if _, err := f.serve(ctx); err != nil {
		return nil, err
	}
	if err := f.activate(ctx, 0, upForActivate); err != nil {
		return nil, err
	}
	activate, err := f.measureActivate(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.activate(ctx, upForActivate, upForIdle); err != nil {
		return activate, err
	}
	idle, err := f.measureIdle(ctx)
	if err != nil {
		return activate, err
	}
	if err := f.activate(ctx, upForIdle, upForAdopt); err != nil {
		return append(activate, idle), err
	}
	adopt, err := f.measureAdopt(ctx)
	return append(append(activate, adopt...), idle), err
}

func (f *fleet) activate(ctx context.Context, from, to int) error {
	f.bench.say("  activating up to %d workspaces", to)
	for i := from; i < to; i++ {
		if _, err := f.operate(ctx, "activate", i, nil); err != nil {
			return err
		}
	}
	return nil
}

// measureActivate activates one more workspace again and again, in turns through the operator
// API and through the command that operators type.
func (f *fleet) measureActivate(ctx context.Context) ([]row, error) {
	var command, api series
	for range f.bench.rounds(20) {
		took, err := f.operate(ctx, "activate", upForActivate, nil)
		if err != nil {
			return nil, err
		}
		api = append(api, milliseconds(took))
		if _, err := f.operate(ctx, "deactivate", upForActivate, nil); err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err := f.command("activate", "r/"+workspaceName(upForActivate)).output(ctx); err != nil {
			return nil, err
		}
		command = append(command, milliseconds(time.Since(began)))
		if _, err := f.operate(ctx, "deactivate", upForActivate, nil); err != nil {
			return nil, err
		}
	}
	return activateRows(command, api), nil
}

func activateRows(command, api series) []row {
	detail := fmt.Sprintf("with %d sessions up", upForActivate)
	return []row{
		{"ship activate, as typed", "ms", command, atMost(50), detail},
		{"activate, on ship.sock", "ms", api, limit{}, detail},
	}
}

// measureIdle watches the ship, the tmux clients that it runs, and its tmux server.
func (f *fleet) measureIdle(ctx context.Context) (row, error) {
	watch := 20 * time.Second
	if f.bench.short {
		watch = 10 * time.Second
	}
	f.bench.say("  watching %d idle sessions for %s", upForIdle, watch)
	server, err := f.tmuxPID(ctx)
	if err != nil {
		return row{}, err
	}
	var spent [2]time.Duration // by the ship, by tmux
	began := time.Now()
	for _, sign := range []time.Duration{-1, 1} {
		for i, pid := range []int{f.ship.pid(), server} {
			now, err := cpuTime(pid)
			if err != nil {
				return row{}, err
			}
			spent[i] += sign * now
		}
		if sign > 0 {
			break
		}
		select {
		case <-time.After(watch):
		case <-ctx.Done():
			return row{}, ctx.Err()
		}
	}
	took := time.Since(began)
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / took.Seconds() }
	return idleRow(
		series{percent(spent[0] + spent[1])},
		fmt.Sprintf("ship and the tmux clients that it runs %.2f %%, tmux server %.2f %%, in %s", percent(spent[0]), percent(spent[1]), watch),
	), nil
}

func idleRow(spent series, detail string) row {
	return row{fmt.Sprintf("%d idle sessions", upForIdle), "% of a core", spent, atMost(1), detail}
}

// measureAdopt starts the ship again and again on sessions that are up, in turns with a ship on
// an atlas without any. What it adopted is counted.
func (f *fleet) measureAdopt(ctx context.Context) ([]row, error) {
	none, err := f.bench.newFleet(ctx, "u")
	if err != nil {
		return nil, err
	}
	defer none.close()
	f.stop()
	var with, without series
	for range f.bench.rounds(12) {
		for _, turn := range []struct {
			fleet *fleet
			times *series
			want  int
		}{{f, &with, upForAdopt}, {none, &without, 0}} {
			took, err := turn.fleet.serve(ctx)
			if err != nil {
				return nil, err
			}
			*turn.times = append(*turn.times, milliseconds(took))
			got, err := turn.fleet.active(ctx)
			turn.fleet.stop()
			if err != nil {
				return nil, err
			}
			if got != turn.want {
				return nil, fmt.Errorf("the ship adopted %d of %d sessions", got, turn.want)
			}
		}
	}
	return adoptRows(with, without), nil
}

func adoptRows(with, without series) []row {
	extra := make(series, len(with))
	for i := range extra {
		extra[i] = with[i] - without[i]
	}
	return []row{
		{fmt.Sprintf("%d sessions adopted, start to ready", upForAdopt), "ms", with, atMost(100), fmt.Sprintf("without sessions %.0f ms", without.median())},
		{"the same, less a start without sessions", "ms", extra, limit{}, ""},
	}
}
