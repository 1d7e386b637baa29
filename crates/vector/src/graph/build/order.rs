//! In which order rows are inserted, and where searches begin.
//!
//! Rows often arrive sorted or in clusters, and a graph grown cluster by cluster lacks the long edges between them. So the
//! order is that of a hash of (seed, row). It does not depend on which rows are in the graph already, so an interrupted build
//! goes on in the same order.

use super::codes::BuildCodes;

/// Rows that are looked at to find the middle.
const SAMPLE: usize = 1024;
/// Rows for each entry, up to a bound of entries. Entries save a search about three hops.
const ROWS_PER_ENTRY: usize = 64;
pub(super) const ENTRIES_MAX: usize = 256;

/// The rows in the order of insertion.
pub(super) fn insertion_order(rows: Vec<u32>, seed: u64) -> Vec<u32> {
    let mut order = rows;
    order.sort_by_cached_key(|row| scatter(seed as u32 ^ (seed >> 32) as u32, *row));
    order
}

/// Two numbers mixed to 32 bits that look random: the finaliser of splitmix64 (Steele, Lea, Flood 2014).
pub(crate) fn scatter(a: u32, b: u32) -> u32 {
    let mut z = (u64::from(a) << 32 | u64::from(b)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as u32
}

/// The entries among rows in random order: the row nearest to the mean of a sample, then others as they come.
pub(super) fn choose_entries(codes: &BuildCodes, order: &[u32]) -> Vec<u32> {
    let sample = &order[..order.len().min(SAMPLE)];
    let mut mean = vec![0.0; codes.padded_dim()];
    let mut lift = 0.0;
    for row in sample.iter().map(|row| codes.row(*row)) {
        row.add_to(&mut mean);
        lift += f64::from(row.lift());
    }
    let scale = 1.0 / sample.len().max(1) as f64;
    mean.iter_mut().for_each(|x| *x *= scale);
    lift *= scale;
    let to_mean = |row: &&u32| codes.row(**row).distance_to(&mean, lift);
    let Some(middle) = sample.iter().min_by(|a, b| to_mean(a).total_cmp(&to_mean(b))) else {
        return Vec::new();
    };
    let entries = (order.len() / ROWS_PER_ENTRY).clamp(1, ENTRIES_MAX);
    std::iter::once(middle).chain(order.iter().filter(|row| *row != middle)).take(entries).copied().collect()
}
