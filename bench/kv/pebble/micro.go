package main

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Single calls by one client, each repeated for some time.

const (
	hot              = 1_000
	coldReads        = 2_000
	batchPuts        = 100
	scanRows         = 100
	transactionCalls = 5
)

func micro(db *pebble.DB, s settings) {
	key, value := make([]byte, keyBytes), make([]byte, valueBytes)
	checked := func(from pebble.Reader, record uint64) {
		right := false
		if !get(from, putKey(key, record), func(value []byte) { right = isValueOf(record, value) }) || !right {
			panic(fmt.Sprintf("record %d: not found, or another's value", record))
		}
	}
	put := func(into pebble.Writer, r *random, write *pebble.WriteOptions) {
		record := r.below(s.keys)
		must(into.Set(putKey(key, record), putValue(value, record, r.next()), write))
	}
	always := int(^uint(0) >> 1)
	repeat("get, 1,000 hot keys", s, always, func(r *random) { checked(db, r.below(hot)) })
	repeat("get, any key", s, always, func(r *random) { checked(db, r.below(s.keys)) })
	repeat("snapshot and one get", s, always, func(r *random) {
		snapshot := db.NewSnapshot()
		checked(snapshot, r.below(hot))
		must(snapshot.Close())
	})
	repeat("scan of 100", s, always, func(r *random) { scan(db, putKey(key, r.below(s.keys)), scanRows, func([]byte) {}) })
	repeat("put, os", s, always, func(r *random) { put(db, r, pebble.NoSync) })
	repeat("put, commit", s, always, func(r *random) { put(db, r, pebble.Sync) })
	repeat("batch of 100 puts, commit", s, always, func(r *random) {
		batch := db.NewBatch()
		for range batchPuts {
			put(batch, r, nil)
		}
		must(batch.Commit(pebble.Sync))
		must(batch.Close())
	})
	// No conflicts are looked for: Pebble has none.
	repeat("transaction of 5 reads and 5 writes, commit", s, always, func(r *random) {
		batch := db.NewIndexedBatch()
		for range transactionCalls {
			get(batch, putKey(key, r.below(s.keys)), func([]byte) {})
		}
		for range transactionCalls {
			put(batch, r, nil)
		}
		must(batch.Commit(pebble.Sync))
		must(batch.Close())
	})
}

// cold reads what the caller has evicted from the page cache.
func cold(db *pebble.DB, s settings) {
	key := make([]byte, keyBytes)
	repeat("get, cold", s, coldReads, func(r *random) { get(db, putKey(key, r.below(s.keys)), func([]byte) {}) })
}

func repeat(name string, s settings, callsMax int, call func(*random)) {
	r := random(s.seed)
	var took latencies
	before := usageNow()
	wall := 0.0
	for wall < s.seconds && took.count < uint64(callsMax) {
		started := time.Now()
		call(&r)
		took.add(time.Since(started))
		wall = time.Since(before.at).Seconds()
	}
	after := usageNow()
	rss, _ := residentMB()
	tell(map[string]any{
		"what": "micro", "name": name, "keys": s.keys, "cache_mb": s.cacheMB, "seed": s.seed, "ops": took.count,
		"ops_s": float64(took.count) / wall, "p50_us": took.percentileUs(50), "p99_us": took.percentileUs(99),
		"cpu_us": (after.cpuSeconds - before.cpuSeconds) * 1e6 / float64(took.count),
		"rss_mb": rss, "load_average": loadAverage(),
	})
}
