//! Keys, values and distributions. `bench/kv/pebble/data.go` makes the same ones.

use std::sync::Arc;

pub const KEY_BYTES: usize = 23;
pub const VALUE_BYTES: usize = 256;
const DIGITS: u64 = 10_000_000_000_000_000_000;
const THETA: f64 = 0.99;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// In `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// FNV-1a of the number's eight bytes, as YCSB scatters its records.
pub fn fnv(number: u64) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    for byte in number.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    hash
}

/// `user` and 19 digits of the hashed record number.
pub fn key(record: u64) -> [u8; KEY_BYTES] {
    let mut key = *b"user0000000000000000000";
    let mut rest = fnv(record) % DIGITS;
    for place in (4..KEY_BYTES).rev() {
        key[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// The record's number, 120 random bytes, 128 that compress to nothing.
pub fn value(record: u64, version: u64) -> [u8; VALUE_BYTES] {
    let mut value = [b'a' + (record % 26) as u8; VALUE_BYTES];
    let mut random = Random(record ^ version.rotate_left(32));
    value[..8].copy_from_slice(&record.to_le_bytes());
    for place in (8..VALUE_BYTES / 2).step_by(8) {
        value[place..place + 8].copy_from_slice(&random.next().to_le_bytes());
    }
    value
}

/// Whether these bytes are a value of this record.
pub fn is_value_of(record: u64, bytes: &[u8]) -> bool {
    bytes.len() == VALUE_BYTES
        && bytes[..8] == record.to_le_bytes()
        && bytes[VALUE_BYTES - 1] == b'a' + (record % 26) as u8
}

/// Ranks with Zipf's distribution (Gray et al. 1994, as in YCSB), theta .99.
#[derive(Clone)]
pub struct Zipf(Arc<Constants>);

struct Constants {
    ranks: u64,
    zeta: f64,
    eta: f64,
    half: f64,
}

impl Zipf {
    pub fn new(ranks: u64) -> Self {
        let zeta: f64 = (1..=ranks).map(|rank| (rank as f64).powf(-THETA)).sum();
        let half = 0.5f64.powf(THETA);
        let eta = (1.0 - (2.0 / ranks as f64).powf(1.0 - THETA)) / (1.0 - (1.0 + half) / zeta);
        Self(Arc::new(Constants { ranks, zeta, eta, half }))
    }

    /// In `0..ranks`, 0 the most frequent.
    pub fn rank(&self, random: &mut Random) -> u64 {
        let Constants { ranks, zeta, eta, half } = *self.0;
        let unit = random.unit();
        if unit * zeta < 1.0 {
            0
        } else if unit * zeta < 1.0 + half {
            1
        } else {
            let rank = (ranks as f64 * (eta * unit - eta + 1.0).powf(1.0 / (1.0 - THETA))) as u64;
            rank.min(ranks - 1)
        }
    }

    /// The frequent ones scattered over all records.
    pub fn record(&self, random: &mut Random) -> u64 {
        fnv(self.rank(random)) % self.0.ranks
    }
}
