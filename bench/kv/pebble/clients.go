package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Clients in goroutines, each with one call under way: a warm-up, then the measured time.

const (
	read = iota
	update
	insert
	scanning
	readModifyWrite
	kinds
)

var kindNames = [kinds]string{"read", "update", "insert", "scan", "rmw"}

const scanMax = 100

// mix is the usual kind, the other one, and the percentage of the other one.
func mix(workload string) (int, int, uint64) {
	switch workload {
	case "a":
		return read, update, 50
	case "b":
		return read, update, 5
	case "c":
		return read, read, 0
	case "d":
		return read, insert, 5
	case "e":
		return scanning, insert, 5
	case "f":
		return read, readModifyWrite, 50
	}
	panic("workload=" + workload + ": one of a to f")
}

const (
	warming = iota
	measuring
	over
)

type cell struct {
	db       *pebble.DB
	settings settings
	zipf     zipf
	phase    atomic.Int32
	next     atomic.Uint64
	inserted atomic.Uint64
	missing  atomic.Uint64
}

func run(db *pebble.DB, s settings) {
	c := &cell{db: db, settings: s, zipf: newZipf(s.keys)}
	c.next.Store(s.keys)
	all := make([][kinds]latencies, s.clients)
	var clients sync.WaitGroup
	for number := range all {
		clients.Go(func() { c.client(uint64(number), &all[number]) })
	}
	time.Sleep(time.Duration(s.warmup * float64(time.Second)))
	before := usageNow()
	c.phase.Store(measuring)
	time.Sleep(time.Duration(s.seconds * float64(time.Second)))
	c.phase.Store(over)
	after := usageNow()
	clients.Wait()
	var sum [kinds]latencies
	ops := uint64(0)
	told := map[string]any{}
	for kind, name := range kindNames {
		for number := range all {
			sum[kind].merge(&all[number][kind])
		}
		if one := &sum[kind]; one.count > 0 {
			ops += one.count
			told[name] = map[string]any{"count": one.count, "p50_us": one.percentileUs(50), "p99_us": one.percentileUs(99)}
		}
	}
	wall := after.at.Sub(before.at).Seconds()
	rss, peak := residentMB()
	tell(map[string]any{
		"what": "run", "workload": s.workload, "clients": s.clients, "durability": s.durability, "keys": s.keys,
		"cache_mb": s.cacheMB, "seed": s.seed, "seconds": wall, "warmup_s": s.warmup, "ops": ops,
		"ops_s": float64(ops) / wall, "cpu_us": (after.cpuSeconds - before.cpuSeconds) * 1e6 / float64(max(ops, 1)),
		"kinds": told, "missing": c.missing.Load(),
		"written_bytes_op": float64(after.writtenBytes-before.writtenBytes) / float64(max(ops, 1)),
		"disk_flushes":     after.diskFlushes - before.diskFlushes,
		"rss_mb":           rss, "peak_rss_mb": peak, "load_average": loadAverage(),
	})
}

func (c *cell) client(number uint64, own *[kinds]latencies) {
	s := c.settings
	write := s.write()
	usual, seldom, percent := mix(s.workload)
	latest := s.workload == "d"
	r := random(s.seed*0x5851F42D4C957F2D ^ number<<40)
	keyBuffer, valueBuffer := make([]byte, keyBytes), make([]byte, valueBytes)
	for {
		kind := usual
		if r.below(100) < percent {
			kind = seldom
		}
		var record uint64
		if latest {
			record = s.keys + c.inserted.Load() - 1 - c.zipf.rank(&r)
		} else {
			record = c.zipf.record(&r)
		}
		key := putKey(keyBuffer, record)
		right, found := true, true
		see := func(value []byte) { right = right && isValueOf(record, value) }
		started := time.Now()
		switch kind {
		case read:
			found = get(c.db, key, see)
		case update:
			must(c.db.Set(key, putValue(valueBuffer, record, r.next()), write))
		case insert:
			record := c.next.Add(1) - 1
			must(c.db.Set(putKey(keyBuffer, record), putValue(valueBuffer, record, 0), write))
			c.inserted.Add(1)
		case scanning:
			limit := 1 + int(r.below(scanMax))
			scan(c.db, key, limit, func(value []byte) { right = right && len(value) == valueBytes })
		case readModifyWrite:
			found = get(c.db, key, see)
			must(c.db.Set(key, putValue(valueBuffer, record, r.next()), write))
		}
		took := time.Since(started)
		if !found && latest {
			c.missing.Add(1)
		} else if !found || !right {
			panic(fmt.Sprintf("record %d: not found, or another's value", record))
		}
		switch c.phase.Load() {
		case measuring:
			own[kind].add(took)
		case over:
			return
		}
	}
}
