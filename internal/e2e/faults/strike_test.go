//go:build e2e && linux

package faults

import (
	"context"
	"net/http"
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
	struck := func() {}
	if f.link != "" {
		t := s.world.links[f.link].trip(f.answers, f.bytes)
		struck = func() { close(t.struck) }
		select {
		case <-t.reached:
		case <-ctx.Done():
			return
		}
	} else {
		select {
		case <-time.After(f.at):
		case <-ctx.Done():
			return
		}
	}
	s.count(f.kind)
	hold := func() { struck(); time.Sleep(f.hold) } // a fault lasts as long as the plan says
	switch f.kind[len(f.kind)-4:] {
	case "ship":
		s.breakDaemon(s.world.ship, f, hold)
	case "idge":
		if f.kind == "fill bridge" {
			s.fill(s.world.bridgeDir, hold)
		} else if d, ok := daemonFault(f.kind); ok {
			s.breakDaemon(s.world.bridge, d, hold)
		} else {
			s.breakLink(s.world.links["bridge"], f, hold)
		}
	case "orge":
		if f.kind == "wrong forge" {
			s.wrongForge(f, hold)
		} else {
			s.breakLink(s.world.links["forge"], f, hold)
		}
	case "pter":
		s.breakAdapter(f, hold)
	case "tlas":
		s.fill(s.world.atlas, hold)
	default:
		struck()
		s.operate(f)
	}
}

func daemonFault(kind string) (fault, bool) {
	switch kind {
	case "kill bridge", "end bridge", "stop bridge":
		return fault{kind: kind}, true
	}
	return fault{}, false
}

// breakDaemon kills, ends or stops a program, and has it run again after a while.
func (s *seedRun) breakDaemon(d *daemon, f fault, hold func()) {
	d.turn.Lock()
	defer d.turn.Unlock()
	switch f.kind[:4] {
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

func (s *seedRun) breakLink(k *link, f fault, hold func()) {
	switch f.kind[:4] {
	case "cut ":
		k.cut()
		hold()
	case "refu":
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
