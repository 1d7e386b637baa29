package main

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Keys, values and distributions: the same ones, number for number, as crates/store/examples/ycsb/data.rs.

const (
	keyBytes   = 23
	valueBytes = 256
	digits     = uint64(10_000_000_000_000_000_000)
	theta      = 0.99
)

// random is SplitMix64 (Steele, Lea, Flood 2014).
type random uint64

func (r *random) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	mixed := uint64(*r)
	mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9
	mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
	return mixed ^ (mixed >> 31)
}

func (r *random) below(end uint64) uint64 { return r.next() % end }

func (r *random) unit() float64 { return float64(r.next()>>11) / float64(uint64(1)<<53) }

// fnv is FNV-1a of the number's eight bytes, as YCSB scatters its records.
func fnv(number uint64) uint64 {
	hash := uint64(0xCBF29CE484222325)
	for range 8 {
		hash = (hash ^ (number & 0xFF)) * 0x00000100000001B3
		number >>= 8
	}
	return hash
}

// putKey writes `user` and 19 digits of the hashed record number.
func putKey(key []byte, record uint64) []byte {
	key = key[:keyBytes]
	copy(key, "user")
	rest := fnv(record) % digits
	for place := keyBytes - 1; place >= 4; place-- {
		key[place] = byte('0' + rest%10)
		rest /= 10
	}
	return key
}

// putValue writes the record's number, 120 random bytes, 128 that compress to nothing.
func putValue(value []byte, record, version uint64) []byte {
	value = value[:valueBytes]
	binary.LittleEndian.PutUint64(value, record)
	r := random(record ^ bits.RotateLeft64(version, 32))
	for place := 8; place < valueBytes/2; place += 8 {
		binary.LittleEndian.PutUint64(value[place:], r.next())
	}
	for place := valueBytes / 2; place < valueBytes; place++ {
		value[place] = byte('a' + record%26)
	}
	return value
}

func isValueOf(record uint64, value []byte) bool {
	return len(value) == valueBytes && binary.LittleEndian.Uint64(value) == record && value[valueBytes-1] == byte('a'+record%26)
}

// zipf draws ranks with Zipf's distribution (Gray et al. 1994, as in YCSB), theta .99.
type zipf struct {
	ranks           uint64
	zeta, eta, half float64
}

func newZipf(ranks uint64) zipf {
	zeta := 0.0
	for rank := uint64(1); rank <= ranks; rank++ {
		zeta += math.Pow(float64(rank), -theta)
	}
	half := math.Pow(0.5, theta)
	eta := (1 - math.Pow(2/float64(ranks), 1-theta)) / (1 - (1+half)/zeta)
	return zipf{ranks, zeta, eta, half}
}

func (z *zipf) rank(r *random) uint64 {
	unit := r.unit()
	switch {
	case unit*z.zeta < 1:
		return 0
	case unit*z.zeta < 1+z.half:
		return 1
	}
	return min(uint64(float64(z.ranks)*math.Pow(z.eta*unit-z.eta+1, 1/(1-theta))), z.ranks-1)
}

// record scatters the frequent ones over all records.
func (z *zipf) record(r *random) uint64 { return fnv(z.rank(r)) % z.ranks }
