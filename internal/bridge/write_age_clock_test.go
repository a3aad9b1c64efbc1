package bridge

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"fleet/api"
)

// sureClock has the Broker count time from the beginning of the test.
func sureClock() func(*Config) {
	start := time.Now()
	return func(c *Config) {
		c.now = func() moment { return moment{"this run of the machine", time.Since(start)} }
	}
}

// A clock set forward by an hour ended the ten minutes within which the same words are posted once,
// and one set forward by two days made the next write of anything forget the first altogether.
func TestASetClockNeitherShortensNorLengthensTheTenMinutes(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{
		"forward an hour": time.Hour, "forward two days": 48 * time.Hour, "back a minute": -time.Minute, "back an hour": -time.Hour,
	} {
		for _, restart := range []bool{false, true} {
			if restart {
				name += ", with a restart of the bridge"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					clock := sureClock()
					b := openBench(t, "", &fakeForge{}, clock)
					first := comment("done")
					raw, err := b.do(first)
					posted := decode[api.Written](t, raw, err)
					b.setClock(t, first, by)
					if restart {
						if err := b.Close(); err != nil {
							t.Fatal(err)
						}
						b = openBench(t, b.dir, b.forge, clock)
					}
					for _, wait := range []time.Duration{0, duplicateTime - time.Second} {
						time.Sleep(wait)
						if _, err := b.do(comment("other words after " + wait.String())); err != nil {
							t.Fatal(err)
						}
						raw, err = b.do(comment("done"))
						if w := decode[api.Written](t, raw, err); w.DuplicateOf != posted.URL {
							t.Errorf("after %v: %+v, want a duplicate of the first", wait, w)
						}
					}
					time.Sleep(2 * time.Second)
					raw, err = b.do(comment("done"))
					if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(b.forge.posted()) != 4 {
						t.Errorf("after ten minutes: %+v and %d posts, want a post of its own", w, len(b.forge.posted()))
					}
				})
			})
		}
	}
}

// An unclear write may still come for a minute; a clock set forward took it for lost at once.
func TestAClockSetForwardDoesNotTakeAnUnclearWriteForLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeForge{}
		f.write = lostAfter(false)
		b := openBench(t, "", f, sureClock())
		first := comment("done")
		_, err := b.do(first)
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		f.write = nil
		b.setClock(t, first, time.Hour)
		_, err = b.do(comment("done"))
		expectError(t, err, "outcome_unknown/write_outcome_unknown")
		if n := len(f.posted()); n != 0 {
			t.Errorf("%d posts, want none while the first may come", n)
		}
		time.Sleep(settleTime)
		raw, err := b.do(comment("done"))
		if w := decode[api.Written](t, raw, err); w.DuplicateOf != "" || len(f.posted()) != 1 {
			t.Errorf("after a minute: %+v and %d posts, want one", w, len(f.posted()))
		}
	})
}

func TestOnlyMomentsOfOneBeginningAreCompared(t *testing.T) {
	for name, c := range map[string]struct {
		earlier, now moment
		want         time.Duration
		sure         bool
	}{
		"one beginning":      {moment{"a", 5}, moment{"a", 8}, 3, true},
		"the machine's next": {moment{"a", 5}, moment{"b", 8}, 0, false},
		"turned back":        {moment{"a", 8}, moment{"a", 5}, 0, false},
		"none":               {moment{}, moment{}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, sure := c.now.from(c.earlier)
			if sure != c.sure || sure && got != c.want {
				t.Errorf("%v from %v = %v, %v, want %v, %v", c.now, c.earlier, got, sure, c.want, c.sure)
			}
		})
	}
}

func TestTheBootClockHoldsAcrossARestartOfTheBridge(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no clock of the machine's start is known here")
	}
	earlier := bootClock()()
	if age, sure := bootClock()().from(earlier); !sure || age > time.Minute {
		t.Errorf("a second clock reads %v after the first, %v", age, sure)
	}
	if _, sure := processClock()().from(earlier); sure {
		t.Error("the clock of a process is compared with the machine's")
	}
}
