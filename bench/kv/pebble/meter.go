package main

import (
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What a cell cost: the figures of crates/store/examples/ycsb/meter.rs.

const steps = 32

// latencies counts in classes that are 3 % wide.
type latencies struct {
	classes [60 * steps]uint64
	count   uint64
}

func (l *latencies) add(took time.Duration) {
	l.classes[class(uint64(took))]++
	l.count++
}

func (l *latencies) merge(other *latencies) {
	for class, count := range other.classes {
		l.classes[class] += count
	}
	l.count += other.count
}

// percentileUs is in microseconds.
func (l *latencies) percentileUs(percent float64) float64 {
	wanted := max(uint64(math.Ceil(float64(l.count)*percent/100)), 1)
	seen := uint64(0)
	for class, count := range l.classes {
		if seen += count; seen >= wanted {
			return middle(uint64(class)) / 1e3
		}
	}
	return 0
}

func class(nanoseconds uint64) int {
	if nanoseconds < steps {
		return int(nanoseconds)
	}
	shift := bits.Len64(nanoseconds) - bits.Len64(steps)
	return shift*steps + int(nanoseconds>>shift)
}

func middle(class uint64) float64 {
	if class < 2*steps {
		return float64(class)
	}
	shift := class/steps - 1
	return (float64(class-shift*steps) + 0.5) * float64(uint64(1)<<shift)
}

// usage is what the process has used until now.
type usage struct {
	cpuSeconds   float64
	writtenBytes uint64
	diskFlushes  uint64
	at           time.Time
}

func usageNow() usage {
	var self syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &self))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	flushes := uint64(0)
	for line := range strings.Lines(text("/proc/diskstats")) {
		if fields := strings.Fields(line); len(fields) > 18 {
			count, _ := strconv.ParseUint(fields[18], 10, 64)
			flushes += count
		}
	}
	return usage{
		cpuSeconds:   seconds(self.Utime) + seconds(self.Stime),
		writtenBytes: field(text("/proc/self/io"), "wchar:"),
		diskFlushes:  flushes,
		at:           time.Now(),
	}
}

// residentMB is the resident size, now and at most.
func residentMB() (float64, float64) {
	status := text("/proc/self/status")
	return float64(field(status, "VmRSS:")<<10) / 1e6, float64(field(status, "VmHWM:")<<10) / 1e6
}

func loadAverage() float64 {
	load, err := strconv.ParseFloat(strings.Fields(text("/proc/loadavg"))[0], 64)
	must(err)
	return load
}

func text(file string) string {
	bytes, err := os.ReadFile(file)
	must(err)
	return string(bytes)
}

func field(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(line, name); is {
			number, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return number
		}
	}
	return 0
}
