package main

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// open gives Pebble the same memory as the others get: its cache holds blocks, indexes and filters, and the memtables are reserved in it.
func open(folder string, s settings) *pebble.DB {
	cache := pebble.NewCache(int64(s.cacheMB) << 20)
	defer cache.Unref()
	options := &pebble.Options{
		Cache:                       cache,
		MemTableSize:                uint64(s.writeBufferMB) << 20 / 2,
		MemTableStopWritesThreshold: 2,
		FormatMajorVersion:          pebble.FormatNewest,
		LBaseMaxBytes:               64 << 20,
		BytesPerSync:                1 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      quiet{},
	}
	for level := range options.Levels {
		options.Levels[level].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(folder, options)
	must(err)
	return db
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(format)
}

func (s settings) write() *pebble.WriteOptions {
	if s.durability == "commit" {
		return pebble.Sync
	}
	return pebble.NoSync
}

// get shows the value where Pebble has it; whether the key is there.
func get(from pebble.Reader, key []byte, see func([]byte)) bool {
	value, closer, err := from.Get(key)
	if err == pebble.ErrNotFound {
		return false
	}
	must(err)
	see(value)
	must(closer.Close())
	return true
}

func scan(db *pebble.DB, from []byte, limit int, see func([]byte)) int {
	rows, err := db.NewIter(nil)
	must(err)
	seen := 0
	for valid := rows.SeekGE(from); valid && seen < limit; valid = rows.Next() {
		value, err := rows.ValueAndErr()
		must(err)
		see(value)
		seen++
	}
	must(rows.Close())
	return seen
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
