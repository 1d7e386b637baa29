//! The reference implementations: plain Rust in sixteen independent lanes, so that compilers vectorise them.

use crate::fast_scan::{BLOCK_ROWS, Factors, LookupTable, Sums, per_step};

const LANES: usize = 16;

fn sum_lanes<T: Copy>(a: &[T], b: &[f32], term: impl Fn(T, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f32 = rest.map(|(x, y)| term(*x, *y)).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum_lanes(a, b, |x, y| x * y)
}

pub(crate) fn l2_squared(a: &[f32], b: &[f32]) -> f32 {
    sum_lanes(a, b, |x, y| (x - y) * (x - y))
}

pub(crate) fn dot_f16(a: &[u16], b: &[f32]) -> f32 {
    sum_lanes(a, b, |x, y| from_f16(x) * y)
}

pub(crate) fn l2_squared_f16(a: &[u16], b: &[f32]) -> f32 {
    sum_lanes(a, b, |x, y| (from_f16(x) - y) * (from_f16(x) - y))
}

/// The value of a half-precision number, exact, without a branch: its exponent and fraction move to their places in an `f32`,
/// whose exponent then counts from a bias that is 112 greater.
fn from_f16(half: u16) -> f32 {
    const TWO_TO_112: f32 = f32::from_bits((112 + 127) << 23);
    let magnitude = f32::from_bits(u32::from(half & 0x7FFF) << 13) * TWO_TO_112;
    let infinite_or_nan = if half & 0x7C00 == 0x7C00 { 0x7F80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | infinite_or_nan | u32::from(half & 0x8000) << 16)
}

pub(crate) fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    let products = a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y));
    products.sum()
}

pub(crate) fn l2_squared_i8(a: &[i8], b: &[i8]) -> i32 {
    let differences = a.iter().zip(b).map(|(x, y)| i32::from(*x) - i32::from(*y));
    differences.map(|x| x * x).sum()
}

pub(crate) fn dot_u8(a: &[u8], b: &[u8]) -> i32 {
    let products = a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y));
    products.sum()
}

pub(crate) fn l2_squared_u8(a: &[u8], b: &[u8]) -> i32 {
    let differences = a.iter().zip(b).map(|(x, y)| i32::from(*x) - i32::from(*y));
    differences.map(|x| x * x).sum()
}

// Inlined, it counts with the instruction of the caller's level.
#[inline]
pub(crate) fn hamming(a: &[u8], b: &[u8]) -> u32 {
    let (a_words, b_words) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_words.remainder().iter().zip(b_words.remainder());
    let rest: u32 = rest.map(|(x, y)| (x ^ y).count_ones()).sum();
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
    a_words.zip(b_words).map(|(x, y)| (word(x) ^ word(y)).count_ones()).sum::<u32>() + rest
}

// Inlined, it counts with the instruction of the caller's level, several words at once where there is one for that.
#[inline(always)]
pub(crate) fn add_hamming(word: u64, words: &[u64], counts: &mut [u16]) {
    for (other, count) in words.iter().zip(counts) {
        *count = count.wrapping_add((word ^ other).count_ones() as u16);
    }
}

pub(crate) fn dot_i8_i16(codes: &[i8], query: &[i16]) -> i64 {
    // 256 products of at most 2^7 * 2^15 fit an i32 with room to spare.
    let parts = codes.chunks(256).zip(query.chunks(256));
    parts
        .map(|(x, y)| {
            let products = x.iter().zip(y).map(|(x, y)| i32::from(*x) * i32::from(*y));
            i64::from(products.sum::<i32>())
        })
        .sum()
}

pub(crate) fn dot_u4_i8(codes: &[u8], query: &[i8]) -> i32 {
    let mut sum = 0;
    for (bytes, query) in codes.chunks_exact(32).zip(query.chunks_exact(64)) {
        for (j, byte) in bytes.iter().enumerate() {
            sum += i32::from(byte & 15) * i32::from(query[j]);
            sum += i32::from(byte >> 4) * i32::from(query[j + 32]);
        }
    }
    sum
}

pub(crate) fn dot_u4_i8_many(query: &[i8], rows: &[&[u8]], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out) {
        *out = dot_u4_i8(row, query);
    }
}

pub(crate) fn fill_table(query: &[f32], entries: &mut [u8]) -> Sums {
    let mut widest = 0.0f32;
    let mut lanes = [0.0f32; LANES];
    for sixteen in query.chunks_exact(LANES) {
        for (group, lanes) in sixteen.chunks_exact(4).zip(lanes.chunks_exact_mut(4)) {
            let group = [group[0].abs(), group[1].abs(), group[2].abs(), group[3].abs()];
            lanes.iter_mut().zip(group).for_each(|(lane, x)| *lane += x);
            widest = widest.max((group[0] + group[1]) + (group[2] + group[3]));
        }
    }
    let per_step = per_step(widest);
    for (group, entries) in query.chunks_exact(4).zip(entries.chunks_exact_mut(16)) {
        // Counted from the group's least value, so that every entry is at least zero. Patterns double with each dimension,
        // so that the sums are those of the dimensions in order, whatever instructions they are made with.
        let mut sums = [0.0f32; 16];
        for (i, x) in group.iter().enumerate() {
            let (unset, set) = if *x > 0.0 { (0.0, 2.0 * x) } else { (-2.0 * x, 0.0) };
            let (low, high) = sums.split_at_mut(1 << i);
            for (low, high) in low.iter_mut().zip(high) {
                (*low, *high) = (*low + unset, *low + set);
            }
        }
        for (entry, above_least) in entries.iter_mut().zip(sums) {
            // At most 255 and a half: the conversion by way of an integer needs no saturation.
            *entry = (above_least * per_step + 0.5) as i32 as u8;
        }
    }
    Sums { widest, whole: lanes.iter().sum() }
}

pub(crate) fn scan_block(
    codes: &[u8],
    table: &LookupTable,
    factors: &Factors,
    threshold: f32,
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let sums = sum_entries(codes, table);
    let mut above = 0;
    for row in 0..BLOCK_ROWS {
        let value = table.step * sums[row] as f32 + table.bias;
        out[row] = factors.add(row) + factors.scale(row) * value;
        above |= u32::from(out[row] > threshold) << row;
    }
    above
}

pub(crate) fn scan_edges(
    high: &[u8],
    low: Option<&[u8]>,
    table: &LookupTable,
    factors: &Factors,
    (base, threshold): (f32, f32),
    out: &mut [f32; BLOCK_ROWS],
) -> u32 {
    let mut sums = sum_entries(high, table);
    if let Some(low) = low {
        for (sum, low) in sums.iter_mut().zip(sum_entries(low, table)) {
            *sum = 2 * *sum + low;
        }
    }
    let (step, bias) = table.units(1 + usize::from(low.is_some()));
    let mut above = 0;
    for row in 0..BLOCK_ROWS {
        let value = step * sums[row] as f32 + bias;
        out[row] = (base + factors.add(row)) + factors.scale(row) * value;
        above |= u32::from(out[row] > threshold) << row;
    }
    above
}

/// Each row's sum of the entries that its codes look up.
fn sum_entries(codes: &[u8], table: &LookupTable) -> [u32; BLOCK_ROWS] {
    let mut sums = [0u32; BLOCK_ROWS];
    for (group, entries) in codes.chunks_exact(16).zip(table.entries.chunks_exact(16)) {
        for (j, byte) in group.iter().enumerate() {
            sums[j] += u32::from(entries[usize::from(byte & 15)]);
            sums[j + 16] += u32::from(entries[usize::from(byte >> 4)]);
        }
    }
    sums
}

pub(crate) fn hadamard(values: &mut [f32], flips: &[u32], scale: f32) {
    for (x, flip) in values.iter_mut().zip(flips) {
        *x = f32::from_bits(x.to_bits() ^ flip);
    }
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    for x in values {
        *x *= scale;
    }
}
