// YCSB's core workloads over Pebble: keys, values, distributions, phases and figures are those of crates/store/examples/ycsb, number for
// number, so that the engines can be compared.
//
//	PROGRAM load|settle|run|micro|cold FOLDER name=value…
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

type settings struct {
	keys          uint64
	cacheMB       int // all of the store's memory: blocks, memtables, indexes and filters
	writeBufferMB int // of these, at most so many for memtables; a half when nothing is said
	workload      string
	clients       int
	durability    string // commit: synced before it returns; os: handed to the system
	warmup        float64
	seconds       float64
	seed          uint64
}

func main() {
	if len(os.Args) < 3 {
		panic("write: load|settle|run|micro|cold FOLDER name=value…")
	}
	s := parse(os.Args[3:])
	before := usageNow()
	db := open(os.Args[2], s)
	switch os.Args[1] {
	case "load":
		load(db, s, before)
	case "settle":
		settle()
	case "run":
		run(db, s)
	case "micro":
		micro(db, s)
	case "cold":
		cold(db, s)
	default:
		panic(os.Args[1] + " is none of load, settle, run, micro, cold")
	}
	must(db.Flush()) // what the others do when they close
	must(db.Close())
}

func parse(args []string) settings {
	s := settings{2_000_000, 64, 0, "c", 8, "commit", 1, 4, 1}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		number, err := strconv.ParseFloat(value, 64)
		switch name {
		case "workload":
			s.workload = value
			continue
		case "durability":
			s.durability = value
			continue
		}
		must(err)
		switch name {
		case "keys":
			s.keys = uint64(number)
		case "cache_mb":
			s.cacheMB = int(number)
		case "write_buffer_mb":
			s.writeBufferMB = int(number)
		case "clients":
			s.clients = int(number)
		case "warmup":
			s.warmup = number
		case "seconds":
			s.seconds = number
		case "seed":
			s.seed = uint64(number)
		default:
			panic(name + " is no setting")
		}
	}
	if s.writeBufferMB == 0 {
		s.writeBufferMB = s.cacheMB / 2
	}
	return s
}

const loadBatch = 1024

// load writes all records in the order of their numbers, so that keys come in random order; 1,024 a durable batch.
func load(db *pebble.DB, s settings, before usage) {
	key, value := make([]byte, keyBytes), make([]byte, valueBytes)
	started := usageNow()
	for first := uint64(0); first < s.keys; first += loadBatch {
		batch := db.NewBatch()
		for record := first; record < min(first+loadBatch, s.keys); record++ {
			must(batch.Set(putKey(key, record), putValue(value, record, 0), nil))
		}
		must(batch.Commit(pebble.Sync))
		must(batch.Close())
	}
	loaded := usageNow()
	settle()
	settled := usageNow()
	wall := loaded.at.Sub(started.at).Seconds()
	rss, peak := residentMB()
	tell(map[string]any{
		"what": "load", "keys": s.keys, "cache_mb": s.cacheMB, "seed": s.seed, "wall_s": wall, "ops_s": float64(s.keys) / wall,
		"cpu_s": loaded.cpuSeconds - before.cpuSeconds, "cpu_settled_s": settled.cpuSeconds - before.cpuSeconds,
		"settled_s": settled.at.Sub(started.at).Seconds(), "written_mb": float64(settled.writtenBytes-before.writtenBytes) / 1e6,
		"rss_mb": rss, "peak_rss_mb": peak, "load_average": loadAverage(),
	})
}

// settle waits until the process has done next to nothing for half a second; a minute at most.
func settle() {
	for range 120 {
		before := usageNow()
		time.Sleep(500 * time.Millisecond)
		if usageNow().cpuSeconds-before.cpuSeconds < 0.015 {
			break
		}
	}
}

func tell(row map[string]any) {
	row["engine"] = "pebble"
	line, err := json.Marshal(row)
	must(err)
	fmt.Println(string(line))
}
