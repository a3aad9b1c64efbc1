//go:build e2e && linux

package faults

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// change is a deactivation of a workspace, which happened between two moments.
type change struct {
	workspace int
	from, to  time.Time
}

// happens waits for f's point and has it happen, unless all is over before.
func (s *seedRun) happens(ctx context.Context, f fault) {
	struck, reached := s.reach(ctx, f)
	if !reached {
		return
	}
	s.count(f.kind)
	hold := func() { struck(); time.Sleep(f.hold) } // a fault lasts as long as the plan says
	w := s.world
	switch f.kind {
	case "kill ship", "end ship", "stop ship":
		s.breakDaemon(w.ship, f, hold)
	case "kill bridge", "end bridge", "stop bridge":
		s.breakDaemon(w.bridge, f, hold)
	case "cut bridge", "refuse bridge", "hold bridge":
		breakLink(w.links["bridge"], f, hold)
	case "cut forge", "refuse forge", "hold forge":
		breakLink(w.links["forge"], f, hold)
	case "kill adapter", "stop adapter":
		s.breakAdapter(f, hold)
	case "fill atlas":
		s.fill(w.atlas, hold)
	case "fill bridge":
		s.fill(w.bridgeDir, hold)
	case "wrong forge":
		s.wrongForge(f, hold)
	default:
		s.operate(f)
	}
}

// reach waits for f's point. What goes over the link there waits until struck is called.
func (s *seedRun) reach(ctx context.Context, f fault) (struck func(), reached bool) {
	if f.link == "" {
		select {
		case <-time.After(f.at):
			return func() {}, true
		case <-ctx.Done():
			return nil, false
		}
	}
	t := s.world.links[f.link].trip(f.answers, f.bytes)
	select {
	case <-t.reached:
		return func() { close(t.struck) }, true
	case <-ctx.Done():
		return nil, false
	}
}

func verb(kind string) string {
	one, _, _ := strings.Cut(kind, " ")
	return one
}

// breakDaemon kills, ends or stops a program, and has it run again after a while.
func (s *seedRun) breakDaemon(d *daemon, f fault, hold func()) {
	d.turn.Lock()
	defer d.turn.Unlock()
	switch verb(f.kind) {
	case "stop":
		d.signal(syscall.SIGSTOP)
		hold()
		d.signal(syscall.SIGCONT)
		return
	case "kill":
		d.kill()
	default:
		if err := d.end(); err != nil {
			s.world.problem("%v", err)
		}
	}
	hold()
	if err := d.start(); err != nil {
		s.world.problem("start %s anew: %v", d.name, err)
	}
}

func breakLink(k *link, f fault, hold func()) {
	switch verb(f.kind) {
	case "cut":
		k.cut()
		hold()
	case "refuse":
		k.refuse(true)
		hold()
		k.refuse(false)
	default:
		release := k.hold()
		hold()
		if f.target%2 == 0 {
			k.cut()
		}
		release()
	}
}

// wrongForge has the forge's next answers be of one of the ways in which forges fail.
func (s *seedRun) wrongForge(f fault, hold func()) {
	gh, comments := s.world.gh, "/repos/*/*/issues/*/comments"
	method, pattern := "POST", comments
	if f.target%4 == 0 {
		method, pattern = "GET", ""
	}
	rule := gh.When(method, pattern).Times(1 + f.target/10%2)
	switch f.target / 20 % 9 {
	case 0:
		rule.CutAfter(f.target)
	case 1:
		rule.ResetAfter(f.target)
	case 2:
		rule.HalfJSON()
	case 3:
		rule.FailAfter(http.StatusBadGateway)
	case 4:
		rule.Page(http.StatusBadGateway)
	case 5:
		rule.DropBefore()
	case 6:
		rule.Slow(100, 20*time.Millisecond)
	case 7:
		rule.Stall()
	default:
		rule.StallBefore()
	}
	time.Sleep(300 * time.Millisecond) // until somebody asks
	hold()
	rule.End()
	if stalls := f.target / 20 % 9; stalls >= 7 {
		s.world.links["forge"].cut()
	}
}

func (s *seedRun) breakAdapter(f fault, hold func()) {
	r := s.harnesses[f.target%len(s.harnesses)].current()
	if f.kind == "kill adapter" {
		r.kill()
		hold()
		return
	}
	_ = r.command.Process.Signal(syscall.SIGSTOP)
	hold()
	_ = r.command.Process.Signal(syscall.SIGCONT)
}

func (s *seedRun) fill(dir string, hold func()) {
	free, err := s.world.fill(dir)
	if err != nil {
		s.world.problem("%v", err)
		return
	}
	hold()
	free()
}

// operate rotates a token, or deactivates a workspace and activates it again, through whatever
// else is broken.
func (s *seedRun) operate(f fault) {
	i := f.target % len(s.world.names)
	s.operating[i].Lock()
	defer s.operating[i].Unlock()
	name := "widgets/" + s.world.names[i]
	if f.kind == "rotate" {
		if _, err := s.world.insist("token", "rotate", name); err != nil {
			s.world.problem("%v", err)
		}
		s.note("token.rotated", i)
		_, _ = s.world.session(i)
		return
	}
	from := time.Now()
	if _, err := s.world.insist("deactivate", name); err != nil {
		s.world.problem("%v", err)
	}
	s.mu.Lock()
	s.changes = append(s.changes, change{workspace: i, from: from, to: time.Now()})
	s.mu.Unlock()
	s.note("workspace.deactivated", i)
	time.Sleep(f.hold)
	s.activateAgain(i)
}

func (s *seedRun) activateAgain(i int) {
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = s.world.activate(i); err == nil {
			s.note("workspace.activated", i)
			return
		}
	}
	s.world.problem("%v", err)
}
