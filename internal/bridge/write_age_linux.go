package bridge

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootClock reads the clock that counts from the machine's start, while it sleeps too, and that
// nobody can set (clock_gettime(2), CLOCK_BOOTTIME), so that it holds across a restart of the bridge.
func bootClock() func() moment {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return processClock()
	}
	// A container may have a boot time of its own (time_namespaces(7)).
	space, _ := os.Readlink("/proc/self/ns/time")
	since := strings.TrimSpace(string(boot)) + " " + space
	return func() moment {
		var now unix.Timespec
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
			return moment{}
		}
		return moment{since, time.Duration(now.Nano())}
	}
}
